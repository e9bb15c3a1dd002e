import { posix } from "node:path";
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
  /** Link → the job that has claimed it. */
  readonly owners: ReadonlyMap<number, string>;
  /** The attempt that follows; null when its token cannot be told. */
  readonly next: Continuation | null;
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
    nextJob: chain.newer === 0 ? null : (run.claims.get(`${stemOf(ref.marker)}-a${number + 1}`) ?? ""),
    owners: ownersOf(run, ref),
    next: nextAttempt(ref, chain, run),
  };
};

const nameIn = (claim: string | undefined): string | null =>
  claim === undefined || claim === "" ? null : claim;

function ownersOf({ claims }: RunFiles, ref: RefOf<"slurm">): ReadonlyMap<number, string> {
  const owners = new Map<number, string>();
  for (const [name, owner] of claims) {
    const [, number, link] = /-a(\d+)\.link-(\d+)$/.exec(name) ?? [];
    if (link === undefined || owner === "" || Number(number) > numberOf(ref.marker)) continue;
    // A later submission of the run has claims of its own.
    owners.set(Number(link), owner);
  }
  return owners;
}

// Attempt N of a submission has its token T, each later one has T.n. The fence holds that of the newest.
function nextAttempt(ref: RefOf<"slurm">, chain: ChainEvidence, run: RunFiles): Continuation | null {
  const number = numberOf(ref.marker);
  const token = chain.supervisor?.token ?? run.files.get("fence")?.trim();
  if (token === undefined || token === "") return null;
  const first = chain.links[0]?.first ?? 1;
  const suffix = [number, ...run.attempts].find((other) => other > first && token.endsWith(`.${other}`));
  const base = suffix === undefined ? token : token.slice(0, -`.${suffix}`.length);
  const next = number + 1;
  const marker = `${stemOf(ref.marker)}-a${next}`;
  return {
    refs: [{ ...ref, marker, folder: posix.join(posix.dirname(ref.folder), String(next)) }],
    token: `${base}.${next}`,
  };
}
