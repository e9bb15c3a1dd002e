import { posix } from "node:path";
import { layoutAt } from "../attempt-layout.ts";
import type { Continuation, RefOf } from "../schema.ts";
import { chainEvidence, type ChainEvidence } from "./chain.ts";
import type { RunFiles } from "./far-evidence.ts";
import { numberOf, stemOf } from "./identity.ts";

/** What the files of a run say about one attempt, and which jobs they are of. */
export interface AttemptEvidence {
  readonly chain: ChainEvidence;
  /** Job that has begun it; null when nobody has, or it has not said its name. */
  readonly job: string | null;
  /** How often that job had been started before. */
  readonly restart: number;
  /** Job that has begun the next attempt; null when nobody has. */
  readonly nextJob: string | null;
  /** Machine on which it was begun, as Slurm names it; null when no file tells. */
  readonly node: string | null;
  /** The end of the newest log of a job, where the program has left nothing that says more. */
  readonly log: LinkLog | null;
  /** Link → the job that has claimed it. */
  readonly owners: ReadonlyMap<number, string>;
  /** The attempt that follows; null when its token cannot be told. */
  readonly next: Continuation | null;
  /** A job of the ref has begun an attempt after this one. */
  readonly hasLater: boolean;
  /** Seconds after which what a node has written is seen where the files are read. */
  readonly lagSeconds: number;
}

/** What a job itself has printed: its setup lines, link.sh and wrapper.sh, not the program. */
export interface LinkLog {
  /** Absolute, on the far machine. */
  readonly path: string;
  readonly link: number;
  /** Its last lines in one, never empty. */
  readonly words: string;
}

/** Pure. The claims name the jobs, where a record is missing. */
export const attemptEvidence = (ref: RefOf<"slurm">, run: RunFiles): AttemptEvidence => {
  const number = numberOf(ref.marker);
  const chain = chainEvidence(run, ref);
  const record = chain.links.find(({ attempt }) => attempt === number);
  return {
    chain,
    job: chain.by?.job ?? nameIn(run.claims.get(ref.marker)),
    restart: record?.restart ?? 0,
    node: (chain.result ?? chain.supervisor ?? record)?.host ?? null,
    log: logOf(ref, run),
    nextJob: chain.newer === 0 ? null : (run.claims.get(`${stemOf(ref.marker)}-a${number + 1}`) ?? ""),
    owners: ownersOf(run, ref),
    next: nextAttempt(ref, chain, run),
    hasLater: hasLater(ref, run),
    lagSeconds: run.isLocal ? SETTLE_SECONDS : LAG_SECONDS,
  };
};

// Files of a job that has ended are there by then. A network filesystem's client may believe for a minute what it knew before.
const SETTLE_SECONDS = 15;
const LAG_SECONDS = 90;

function hasLater({ marker, jobs }: RefOf<"slurm">, { claims }: RunFiles): boolean {
  const ids = new Set(jobs.map(({ id }) => id));
  return [...claims].some(
    ([claim, owner]) =>
      ids.has(owner) && stemOf(claim) === stemOf(marker) && numberOf(claim) > numberOf(marker),
  );
}

const nameIn = (claim: string | undefined): string | null =>
  claim === undefined || claim === "" ? null : claim;

const LOG_LINES = 5;
const LOG_CHARACTERS = 600;

function logOf(ref: RefOf<"slurm">, { files }: RunFiles): LinkLog | null {
  for (const [path, text] of files) {
    const [, link] = /^attempts\/\d+\/link-(\d+)\.txt$/.exec(path) ?? [];
    if (link === undefined) continue;
    const lines = text.split(/[\r\n]+/).map((line) => line.replaceAll(/\p{Cc}/gu, " ").trim());
    // What a link says of itself is in its record.
    const last = lines.filter((line) => line !== "" && !/^link \d+ of \d+: /.test(line)).slice(-LOG_LINES);
    const words = last.join(" | ").slice(-LOG_CHARACTERS);
    if (words === "") continue;
    const { run } = layoutAt(ref.folder);
    return { path: posix.join(run, path), link: Number(link), words };
  }
  return null;
}

// Each submission of the run has claims of its own, by the number of its first attempt. One that has begun an earlier attempt
// than this has left a name of its jobs; else it begins with this one.
function ownersOf({ claims }: RunFiles, ref: RefOf<"slurm">): ReadonlyMap<number, string> {
  const links = [...claims].flatMap(([name, owner]) => {
    const [, first, link] = /-a(\d+)\.link-(\d+)$/.exec(name) ?? [];
    const isSaid = link !== undefined && owner !== "" && Number(first) <= numberOf(ref.marker);
    return isSaid ? [{ first: Number(first), link: Number(link), owner }] : [];
  });
  const ids = new Set(ref.jobs.map(({ id }) => id));
  const own = links.filter(({ owner }) => ids.has(owner)).map(({ first }) => first);
  const submission = own.length === 0 ? numberOf(ref.marker) : Math.max(...own);
  const ours = links.filter(({ first }) => first === submission);
  return new Map(ours.map(({ link, owner }) => [link, owner]));
}

// Attempt N of a submission has its token T, each later one has T.n. The fence holds that of the newest.
function nextAttempt(ref: RefOf<"slurm">, chain: ChainEvidence, run: RunFiles): Continuation | null {
  const number = numberOf(ref.marker);
  const token = ref.token ?? chain.supervisor?.token ?? run.files.get("fence")?.trim();
  if (token === undefined || token === "") return null;
  const first = chain.links[0]?.first ?? 1;
  const suffix =
    ref.token === undefined
      ? [number, ...run.attempts].find((other) => other > first && token.endsWith(`.${other}`))
      : undefined;
  const base = suffix === undefined ? token : token.slice(0, -`.${suffix}`.length);
  const next = number + 1;
  const marker = `${stemOf(ref.marker)}-a${next}`;
  return {
    refs: [{ ...ref, marker, folder: posix.join(posix.dirname(ref.folder), String(next)) }],
    token: `${base}.${next}`,
  };
}
