import type { RefOf } from "../schema.ts";
import type { RunFiles } from "./far-evidence.ts";
import { linkOf, ownership, stemOf } from "./identity.ts";
import type { QueuedJob } from "./squeue.ts";

type SlurmRef = RefOf<"slurm">;

/**
 * A ref with the links of its chain that it lacks, as queue and claims show them: a controller that was hung takes a job whose
 * submission nobody waits for any more. Links that the ref has stay as they are: another job that claims to be one is a
 * stranger. Pure.
 */
export const withLateJobs = (
  ref: SlurmRef,
  rows: readonly QueuedJob[],
  claims: RunFiles["claims"] = new Map(),
): SlurmRef => {
  const names = namesOf(ref, rows, claims);
  const known = new Set(ref.jobs.map(({ link }) => link));
  const lacks = ({ name, link }: LinkJob): boolean => names.has(name) && !known.has(link);
  const queued = linksAmong(rows, ref).filter(lacks);
  const shown = new Set(queued.map(({ link }) => link));
  const claimed = linksIn(claims).filter((one) => lacks(one) && !shown.has(one.link));
  const late = [...queued, ...claimed].map(({ job, link }) => ({ id: job, link }));
  if (late.length === 0) return ref;
  return {
    ...ref,
    jobs: [...ref.jobs, ...late].toSorted((a, b) => a.link - b.link || Number(a.id) - Number(b.id)),
  };
};

interface LinkJob {
  /** Of all jobs of its chain. */
  readonly name: string;
  readonly link: number;
  readonly job: string;
}

function linksAmong(rows: readonly QueuedJob[], { marker, submittedAt }: SlurmRef): readonly LinkJob[] {
  return rows.flatMap((row) => {
    const said = linkOf(row.comment);
    const isOurs = ownership({ ...row, exit: "" }, marker, submittedAt) === "ours";
    return isOurs && said?.marker === row.name ? [{ name: row.name, link: said.link, job: row.id }] : [];
  });
}

// All links of a chain have the name of its first attempt, which a ref of a later one does not say: its jobs do.
function namesOf(
  { jobs, marker }: SlurmRef,
  rows: readonly QueuedJob[],
  claims: RunFiles["claims"],
): ReadonlySet<string> {
  const ids = new Set(jobs.map(({ id }) => id));
  const own = [
    ...rows.filter(({ id }) => ids.has(id)).map(({ name }) => name),
    ...linksIn(claims)
      .filter(({ job }) => ids.has(job))
      .map(({ name }) => name),
  ];
  return new Set([marker, ...own.filter((name) => stemOf(name) === stemOf(marker))]);
}

function linksIn(claims: RunFiles["claims"]): readonly LinkJob[] {
  return [...claims].flatMap(([claim, job]) => {
    const [, name, link] = /^(.+)\.link-(\d+)$/.exec(claim) ?? [];
    return name === undefined || !/^\d+$/.test(job) ? [] : [{ name, link: Number(link), job }];
  });
}
