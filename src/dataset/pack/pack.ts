import { join } from "node:path";
import { systemClock, type Clock } from "../../core/clock.ts";
import { InternalError, UserError } from "../../core/errors.ts";
import { exists, readIfExists, writeJson } from "../../core/files.ts";
import { digestOf } from "../../core/hash.ts";
import type { Project } from "../../core/project.ts";
import { loadSpec, type LoadedSpec } from "../load-spec.ts";
import { lockFile, packedFolder } from "../places.ts";
import type { DatasetLock, ShardEntry, Split } from "../schema.ts";
import { openSource } from "../source/open-source.ts";
import type { DialogueSource } from "../source/source.ts";
import { crewOnCall, type CrewOnCall } from "./crew-on-call.ts";
import type { Threads } from "./crew.ts";
import { divide, type Division } from "./divide.ts";
import { openFileDigests, type FileDigests } from "./file-digests.ts";
import { checkAllowance, type Allowances } from "./allowances.ts";
import { dialogueBad } from "./hand.ts";
import { BUILDER, lockOf } from "./lock.ts";
import type { OpenEmbedder } from "./near.ts";
import { oneAtATime } from "./one-at-a-time.ts";
import { withoutHurried } from "./pace.ts";
import { planShards, type PlannedShard } from "./plan-shards.ts";
import { forgetRefused, requireGates } from "./refused.ts";
import { currentLock, shardsOf, writeReceipt, type PackStamp } from "./receipt.ts";
import { ALL, type Share } from "./share.ts";
import { requireSameSource, sourceStamp, type SourceStamp } from "./source-stamp.ts";
import { openSurveyParts } from "./survey-parts.ts";
import { isRepetition, surveyUnits } from "./survey.ts";
import { watcher, type PackProgress } from "./watcher.ts";
import { removeStrangers, requireFinished, writeShards } from "./write-shards.ts";

export interface PackOptions {
  readonly project: Project;
  /** Name of the data set: datasets/NAME.yaml. */
  readonly name: string;
  /** Default: this thread alone. */
  readonly threads?: Threads;
  /** Reasons for letting violated gates pass; they are recorded in the lock. */
  readonly allow?: Allowances;
  /** Any dialogue that would be dropped for its form, its audio or its text stops the pack instead. */
  readonly strict?: boolean;
  /** Needed where the spec looks for near-duplicates. */
  readonly openEmbedder?: OpenEmbedder;
  readonly onProgress?: (progress: PackProgress) => void;
  /** Brings the source here before it is opened, while nobody else packs it. */
  readonly prepare?: () => Promise<void>;
  /** Another process, of this pid, packs the same data set whole; it is waited for. */
  readonly onWait?: (holder: number) => void;
  readonly signal?: AbortSignal;
  readonly clock?: Clock;
}

export interface PackResult {
  readonly outcome: "packed";
  readonly lock: DatasetLock;
  readonly lockPath: string;
  /** Nothing had changed since the last pack, so nothing was done. */
  readonly reused: boolean;
  /** Shards that an earlier, unfinished or different pack had made already. */
  readonly shardsReused: number;
  /** Names of Parquet files beside the shards that no pack had made, and that were removed. */
  readonly removed: readonly string[];
  /** There was a lock before, and it said something else. */
  readonly lockChanged: boolean;
}

/** What other shares have still to do before the next step of a pack. */
export interface PackWaiting {
  readonly outcome: "waiting";
  readonly for: "survey" | "shards";
  readonly missing: number;
}

/**
 * Packs a data set: checks every dialogue, divides them, and writes Parquet shards and, last, the lock. The same source
 * and spec give the same bytes, whatever the number of threads and shares. Memory holds one row group per thread and a
 * short entry per dialogue. Killed at any point, the same command goes on with what was finished; when nothing changed
 * it returns at once. UserErrors: of the spec (`DATASET_UNKNOWN`, `SPEC_INVALID`, …), of the source (`SOURCE_MISSING`,
 * `SOURCE_JSON_INVALID`, `ROLES_INVALID`, `SLUG_COLLISION`, `CLIP_BAD`, `SOURCE_CHANGED`), `DIALOGUE_BAD` when strict,
 * `GATE_UNKNOWN`, `GATE_VIOLATED`, `DISK_FULL`, and those of near-duplicates.
 */
export const packDataset = async (options: PackOptions): Promise<PackResult> => {
  const result = await packShare(options, ALL);
  if (result.outcome === "packed") return result;
  throw new InternalError("PACK_UNFINISHED", `${result.missing} parts of the ${result.for} were not done`);
};

/**
 * One share of a pack, of several that run at once or one after the other with the same packed folder, as in a Slurm
 * array. Every share ends when what it can do is done; run again when the others are, it goes on with the next step, and
 * whoever finds all shards finished writes the lock. Errors as of `packDataset`.
 */
export const packShare = async (options: PackOptions, share: Share): Promise<PackResult | PackWaiting> => {
  const { project, name, signal, allow = {} } = options;
  for (const gate of Object.keys(allow)) checkAllowance(gate);
  // What is wrong with it is said before anybody is waited for.
  await loadSpec(project, name);
  return oneAtATime(options, share, async () => {
    const loaded = await loadSpec(project, name);
    await options.prepare?.();
    const crew = crewOnCall({ project, loaded, strict: options.strict ?? false }, options.threads);
    // Without a lock there is work to do.
    if (!(await exists(lockFile(project, name)))) crew.begin();
    try {
      const source = await openSource(loaded, project);
      try {
        const before = await sourceStamp(source.folder, signal);
        return await packSource(options, { loaded, source, before, share, crew });
      } finally {
        await source.close();
      }
    } finally {
      await crew.close();
    }
  });
};

interface Opened {
  readonly loaded: LoadedSpec;
  readonly source: DialogueSource;
  /** State of the source when it was opened. */
  readonly before: SourceStamp;
  readonly share: Share;
  readonly crew: CrewOnCall;
}

async function packSource(options: PackOptions, opened: Opened): Promise<PackResult | PackWaiting> {
  const { project, name } = options;
  const digests = await openFileDigests(join(project.state, "datasets", `${name}.files.json`));
  const lockPath = lockFile(project, name);
  const receipt = join(project.state, "datasets", `${name}.packed.json`);
  const stamp: PackStamp = {
    specDigest: opened.loaded.digest,
    builder: BUILDER,
    sourceStamp: opened.before.untouched,
    allow: { ...options.allow },
  };
  const claim = { lockPath, receipt, stamp, digests, folder: packedFolder(project, name) };
  const current = await currentLock(claim);
  // A pack that was not strict may have left something out.
  const isStrictEnough = !options.strict || current?.drops.list.every(isRepetition) === true;
  if (current && isStrictEnough) {
    await digests.save();
    await forgetRefused(project, name);
    const shards = shardsOf(current);
    const removed = await removeStrangers(claim.folder, shards, options.clock ?? systemClock);
    const reuse = { reused: true, shardsReused: shards.length, lockChanged: false, removed };
    return { outcome: "packed", lock: current, lockPath, ...reuse };
  }
  const built = await build(options, opened, digests);
  await digests.save();
  if (built.outcome === "waiting") return built;
  const before = await readIfExists(lockPath);
  await writeJson(lockPath, built.lock);
  await writeReceipt(claim);
  await forgetRefused(project, name);
  const after = await readIfExists(lockPath);
  return {
    outcome: "packed",
    lock: built.lock,
    lockPath,
    reused: false,
    shardsReused: built.shardsReused,
    removed: built.removed,
    lockChanged: before !== undefined && before !== after,
  };
}

type Built =
  | ({ readonly outcome: "built" } & Pick<PackResult, "lock" | "shardsReused" | "removed">)
  | PackWaiting;

async function build(options: PackOptions, opened: Opened, digests: FileDigests): Promise<Built> {
  const { project, name } = options;
  const { share, before } = opened;
  const crew = await opened.crew.open();
  const parts = openSurveyParts(
    packedFolder(project, name),
    digestOf([opened.loaded.digest, BUILDER, before.files]),
    share === ALL ? before.untouched : null,
  );
  await parts.removeOthers();
  // What the survey says of this source is no longer so; the next run must read it anew.
  const forgetChanged = async (error: unknown): Promise<never> => {
    if (error instanceof UserError && error.code === "SOURCE_CHANGED") await parts.clear();
    throw error;
  };
  const watch = watcher(options, "check", null);
  const { survey: read, missing } = await surveyUnits(opened.source.units, { crew, parts, share, watch });
  const survey = withoutHurried(read, opened.loaded.spec.checks.hurried);
  const bad = options.strict ? survey.drops.find((drop) => !isRepetition(drop)) : undefined;
  if (bad) throw dialogueBad(bad);
  if (missing > 0) return { outcome: "waiting", for: "survey", missing };
  const division = await divide({ ...opened, survey }, options);
  await requireGates(options, division, opened.source.roles);
  const planned = planShards(division.splits, opened.source.roles, opened.loaded.spec);
  const folder = packedFolder(project, name);
  const total = planned.reduce((sum, shard) => sum + shard.entries.length, 0);
  const written = await writeShards(planned, {
    folder,
    crew,
    digests,
    share,
    watch: watcher(options, "write", total),
  }).catch(forgetChanged);
  const open = written.entries.filter((entry) => entry === undefined).length;
  if (open > 0) return { outcome: "waiting", for: "shards", missing: open };
  await requireSameSource(opened.source.folder, opened.before, options.signal).catch(forgetChanged);
  const removed = await removeStrangers(folder, planned, options.clock ?? systemClock);
  await requireFinished(planned, written.entries, folder);
  return {
    outcome: "built",
    lock: finish(opened, { division, planned, written }),
    shardsReused: written.reused,
    removed,
  };
}

function finish(
  { loaded, source }: Opened,
  {
    division,
    planned,
    written,
  }: {
    readonly division: Division;
    readonly planned: readonly PlannedShard[];
    readonly written: { readonly entries: readonly (ShardEntry | undefined)[] };
  },
): DatasetLock {
  const shards: Record<Split, ShardEntry[]> = { train: [], dev: [], ood: [], test: [] };
  for (const [index, { split }] of planned.entries()) {
    const entry = written.entries[index];
    if (entry) shards[split].push(entry);
  }
  const sourceRevision = source.revision ?? loaded.spec.source.revision;
  return lockOf({ loaded, roles: source.roles, sourceRevision, shards, ...division });
}
