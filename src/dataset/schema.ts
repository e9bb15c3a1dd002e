// The contracts of this stage in one place: what a person writes, what a pack says of itself, and what a row is.
export {
  DatasetLock,
  Drop,
  Gate,
  LockedRole,
  NearLock,
  ShardEntry,
  SplitLock,
  Statistics,
  Tokens,
} from "./lock-schema.ts";
export { RoleEntry, type Clip, type Dialogue, type Turn } from "./rows.ts";
export { DatasetSpec } from "./spec-schema.ts";
export {
  DialogueKind,
  Language,
  REFERENCE_BACKENDS,
  ReferenceBackend,
  Sha256,
  Split,
  SPLITS,
} from "./vocabulary.ts";
