// Stage 1 of 7: a corpus and its spec become checked, divided Parquet shards and a lock that names every byte of them.
export { datasetCard, type CardOptions, type DatasetCard } from "./card/card.ts";
export { publishedCard, type PublishedCard } from "./card/published-card.ts";
export type { CardPlot } from "./card/plots.ts";
export {
  downloadRepository,
  type DownloadedRepository,
  type RepositoryDownload,
} from "./hub/download-repository.ts";
export { pinFile, readHubPin, HubPin } from "./hub/hub-pin.ts";
export type { HubProgress } from "./hub/hub-progress.ts";
export type { HubPause, RetryPolicy } from "./hub/hub-world.ts";
export { pullDataset, type PullOptions, type PullResult } from "./hub/pull.ts";
export { pushDataset, type PushOptions, type PushResult } from "./hub/push.ts";
export type { RemoteFile } from "./hub/remote-file.ts";
export { findSpec, loadSpec, specNames, type LoadedSpec } from "./load-spec.ts";
export { lockFile, packedFolder } from "./places.ts";
export type { Defect } from "./import/defects.ts";
export { importCorpus, type ImportOptions, type ImportReport } from "./import/import-corpus.ts";
export { importRaw, type RawImportOptions, type RawImportReport } from "./import/import-raw.ts";
export {
  cachedEmbedder,
  endpointEmbedder,
  payloadEmbedder,
  VectorCache,
  type Embedder,
} from "./near/index.ts";
export { lockDigest, readLock } from "./lock-file.ts";
export { openDataset, type OpenDataset } from "./open.ts";
export type { Allowances } from "./pack/allowances.ts";
export type { OpenEmbedder } from "./pack/near.ts";
export { packDataset, packShare, type PackOptions, type PackResult, type PackWaiting } from "./pack/pack.ts";
export type { PackProgress } from "./pack/watcher.ts";
export { readRefused, type RefusedPack } from "./pack/refused.ts";
export { ALL as WHOLE_SHARE, parseShare, type Share } from "./pack/share.ts";
export { packThreads } from "./pack/threads.ts";
export {
  DatasetLock,
  DatasetSpec,
  DialogueKind,
  Drop,
  Gate,
  Language,
  LockedRole,
  REFERENCE_BACKENDS,
  ReferenceBackend,
  RoleEntry,
  ShardEntry,
  Split,
  SplitLock,
  SPLITS,
  type Clip,
  type Dialogue,
  type Turn,
} from "./schema.ts";
export type { EmbeddingModel } from "./spec-schema.ts";
export { openShard, type Shard } from "./shard/read-shard.ts";
export type { DialogueText } from "./shard/row.ts";
export type {
  ClipBytes,
  ClipFault,
  ClipSource,
  DialogueSource,
  Draft,
  DraftTurn,
  Found,
  SourceRole,
} from "./source/source.ts";
export { fetchSource, type DownloadRepository } from "./source/hub-source.ts";
export type { Place } from "./source/place.ts";
export { readShardFacts, type ShardFacts, type SplitFacts } from "./shard-facts.ts";
export { verifyDataset, type VerifyOptions } from "./verify.ts";
export { wavClip } from "./wav-clip.ts";
