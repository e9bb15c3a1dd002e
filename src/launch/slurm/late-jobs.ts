import type { RefOf } from "../schema.ts";
import type { RunFiles } from "./far-evidence.ts";
import { isTokenOf, linkOf, numberOf, ownership, stemOf } from "./identity.ts";
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

/**
 * A ref with the jobs that have taken a link of it under its own token: two submissions of one plan, of which the first to start
 * has won. Without a token in the ref nothing is known of them. Pure.
 */
export const withTwins = (ref: SlurmRef, rows: readonly QueuedJob[], run: RunFiles): SlurmRef => {
  const { token } = ref;
  if (token === undefined) return ref;
  const names = namesOf(ref, rows, run.claims);
  const ids = new Set(ref.jobs.map(({ id }) => id));
  const twins = linksIn(run.claims).filter(
    ({ name, job }) => names.has(name) && !ids.has(job) && runsWith(token, job, run),
  );
  if (twins.length === 0) return ref;
  const jobs = [...ref.jobs, ...twins.map(({ job, link }) => ({ id: job, link }))];
  return { ...ref, jobs: jobs.toSorted((a, b) => a.link - b.link || Number(a.id) - Number(b.id)) };
};

// Its supervisors say which token a job has; before one is there, a job that has claimed its link has passed the fence.
function runsWith(token: string, job: string, { claims, files }: RunFiles): boolean {
  const supervisors = [...claims].flatMap(([claim, owner]) => {
    const text = files.get(`attempts/${numberOf(claim)}/supervisor.json`);
    return owner === job && numberOf(claim) > 0 && text !== undefined ? [text] : [];
  });
  if (supervisors.length === 0) return isTokenOf(token, files.get("fence")?.trim() ?? "");
  return supervisors.every((text) => isTokenOf(token, /"token":"([^"]*)"/.exec(text)?.[1] ?? ""));
}

interface LinkJob {
  /** Of all jobs of its chain. */
  readonly name: string;
  readonly link: number;
  readonly job: string;
}

function linksAmong(rows: readonly QueuedJob[], { marker, submittedAt }: SlurmRef): readonly LinkJob[] {
  return rowsOfRun(rows, marker).flatMap((row) => {
    if (ownership({ ...row, exit: "" }, marker, submittedAt) !== "ours") return [];
    const said = linkOf(row.comment);
    return said?.marker === row.name ? [{ name: row.name, link: said.link, job: row.id }] : [];
  });
}

// One answer of the queue serves all runs of a cluster: a thousand runs must not read a thousand rows each.
const indexes = new WeakMap<readonly QueuedJob[], ReadonlyMap<string, readonly QueuedJob[]>>();

function rowsOfRun(rows: readonly QueuedJob[], marker: string): readonly QueuedJob[] {
  const known = indexes.get(rows);
  if (known) return known.get(stemOf(marker)) ?? [];
  const index = new Map<string, QueuedJob[]>();
  for (const row of rows) {
    const stem = stemOf(row.name);
    const others = index.get(stem);
    if (others) others.push(row);
    else index.set(stem, [row]);
  }
  indexes.set(rows, index);
  return index.get(stemOf(marker)) ?? [];
}

// All links of a chain have the name of its first attempt, which a ref of a later one does not say: its jobs do.
function namesOf(
  { jobs, marker }: SlurmRef,
  rows: readonly QueuedJob[],
  claims: RunFiles["claims"],
): ReadonlySet<string> {
  const ids = new Set(jobs.map(({ id }) => id));
  const own = [
    ...rowsOfRun(rows, marker)
      .filter(({ id }) => ids.has(id))
      .map(({ name }) => name),
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
