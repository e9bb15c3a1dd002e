import { basename } from "node:path";
import { z } from "zod";
import { parseJson } from "../../core/files.ts";
import { WrapperResult, type RefOf } from "../schema.ts";
import { Supervisor } from "../supervisor.ts";

/** `links/N-K.json`: what one start of a link decided, written by link.sh before anything came of it. */
const LinkRecord = z.strictObject({
  schemaVersion: z.literal(1),
  /** First attempt of the submission. */
  first: z.int().positive(),
  link: z.int().positive(),
  links: z.int().positive(),
  /** Scheduler's id of the job. */
  job: z.string(),
  /** How often Slurm had started this job again. */
  restart: z.int().nonnegative(),
  host: z.string(),
  decision: z.enum(["run", "succeeded", "stopped", "failed", "no-progress"]),
  /** The attempt it has begun; null when it went away. */
  attempt: z.int().positive().nullable(),
  /** Step of the newest complete checkpoint, or bytes of rows, when it decided. */
  progress: z.int().nonnegative(),
  reason: z.string(),
  at: z.string(),
});
export type LinkRecord = z.infer<typeof LinkRecord>;

/** What lies in a run's folder: texts by relative path, and claims by name. */
export interface ChainFiles {
  readonly files: ReadonlyMap<string, string>;
  readonly claims: ReadonlyMap<string, string>;
}

export interface ChainEvidence {
  /** `begun`: there is no result of it, which does not say that it runs. */
  readonly state: "not-begun" | "begun" | "ended";
  readonly result: WrapperResult | null;
  readonly supervisor: Supervisor | null;
  /** The job that runs or ran this attempt, and as which link; null where it left no record. */
  readonly by: { readonly job: string; readonly link: number } | null;
  /** Number of the newest attempt that began after this one: the far side has gone on. 0: none has. */
  readonly newer: number;
  /** First line of the attempt's STOP, e.g. `signal USR1` (the time limit) or `signal TERM`; null without one. */
  readonly stop: string | null;
  /** A stop of the whole run was asked for. */
  readonly runStopped: boolean;
  /** The last decision of each link of the ref's jobs, in their order. */
  readonly links: readonly LinkRecord[];
  /** Why a link that came after this attempt began no other one: no further link will either. */
  readonly givenUp: Pick<LinkRecord, "decision" | "reason"> | null;
}

/** What the files of a run say about the attempt of a ref and the chain it belongs to. Pure; a torn file is no file. */
export const chainEvidence = ({ files, claims }: ChainFiles, ref: RefOf<"slurm">): ChainEvidence => {
  const number = numberOf(ref);
  const records = recordsOf(files, ref);
  const read = <Value>(name: string, schema: z.ZodType<Value>): Value | null =>
    parsed(files.get(`attempts/${number}/${name}`), schema);
  const ownResult = read("result.json", WrapperResult);
  const ownSupervisor = read("supervisor.json", Supervisor);
  const result = ownResult?.marker === ref.marker ? ownResult : null;
  const supervisor = ownSupervisor?.marker === ref.marker ? ownSupervisor : null;
  const begunBy = records.findLast(({ attempt }) => attempt === number);
  const hasBegun = begunBy !== undefined || supervisor !== null || claims.has(ref.marker);
  const stop = files.get(`attempts/${number}/STOP`);
  return {
    state: result !== null ? "ended" : hasBegun ? "begun" : "not-begun",
    result,
    supervisor,
    by: begunBy === undefined ? null : { job: begunBy.job, link: begunBy.link },
    newer: newestAfter(number, { ref, claims, records }),
    stop: stop === undefined ? null : (stop.split("\n")[0] ?? ""),
    runStopped: files.has("STOP"),
    links: lastOfEach(records, ref),
    givenUp: givenUpAfter(records, begunBy),
  };
};

// Stopped and saved; an unfit machine; HUP, INT, KILL, TERM: somebody else's doing. link.sh has the same list, and the reason
// table retries the same ends.
const MAY_GO_ON: ReadonlySet<number> = new Set([3, 69, 129, 130, 137, 143]);

/**
 * What link.sh does next, as far as the end of this attempt alone tells: `ends` when no other one would begin. `depends` on
 * whether there is something newer to go on from, and on how the attempts before it ended.
 */
export const nextOf = ({
  result,
  runStopped,
}: Pick<ChainEvidence, "result" | "runStopped">): "ends" | "depends" => {
  if (runStopped) return "ends";
  if (result === null) return "depends";
  return MAY_GO_ON.has(result.exitCode) ? "depends" : "ends";
};

const numberOf = (ref: RefOf<"slurm">): number => Number(basename(ref.folder));

function recordsOf(files: ChainFiles["files"], ref: RefOf<"slurm">): readonly LinkRecord[] {
  const ids = new Set(ref.jobs.map(({ id }) => id));
  return [...files]
    .filter(([path]) => /^links\/[^/]+\.json$/.test(path))
    .toSorted(([a], [b]) => startOf(a) - startOf(b))
    .flatMap(([, text]) => parsed(text, LinkRecord) ?? [])
    .filter(({ job }) => ids.has(job));
}

// `links/1-2.json` is the first start of link 2, `links/1-2-3.json` its third.
function startOf(path: string): number {
  return Number(/-\d+-(\d+)\.json$/.exec(path)?.[1] ?? 1);
}

function lastOfEach(records: readonly LinkRecord[], ref: RefOf<"slurm">): readonly LinkRecord[] {
  return ref.jobs.flatMap(({ id }) => records.findLast(({ job }) => job === id) ?? []);
}

function newestAfter(
  number: number,
  {
    ref,
    claims,
    records,
  }: {
    readonly ref: RefOf<"slurm">;
    readonly claims: ChainFiles["claims"];
    readonly records: readonly LinkRecord[];
  },
): number {
  const stem = ref.marker.slice(0, -String(number).length);
  const claimed = [...claims.keys()]
    .filter((name) => name.startsWith(stem))
    .map((name) => Number(name.slice(stem.length)))
    .filter(Number.isInteger);
  const later = [...claimed, ...records.map(({ attempt }) => attempt ?? 0)].filter((other) => other > number);
  return Math.max(0, ...later);
}

function givenUpAfter(
  records: readonly LinkRecord[],
  begunBy: LinkRecord | undefined,
): Pick<LinkRecord, "decision" | "reason"> | null {
  const skipped = records.filter(
    ({ attempt, decision, at }) => attempt === null && decision !== "run" && at >= (begunBy?.at ?? ""),
  );
  const last = skipped.toSorted((a, b) => (a.at < b.at ? -1 : 1)).at(-1);
  return last === undefined ? null : { decision: last.decision, reason: last.reason };
}

function parsed<Value>(text: string | undefined, schema: z.ZodType<Value>): Value | null {
  if (text === undefined) return null;
  try {
    return parseJson(text, schema, "evidence of a run");
  } catch {
    return null;
  }
}
