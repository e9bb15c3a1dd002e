import type { RefOf, WrapperResult } from "../../../src/launch/schema.ts";
import { attemptEvidence } from "../../../src/launch/slurm/attempt-evidence.ts";
import type { RunFiles } from "../../../src/launch/slurm/far-evidence.ts";
import type { AccountedJob } from "../../../src/launch/slurm/sacct.ts";
import type { AccountsState, JobView, Scene } from "../../../src/launch/slurm/scene.ts";
import type { QueuedJob } from "../../../src/launch/slurm/squeue.ts";
import { readState } from "../../../src/launch/slurm/states.ts";

export const NOW = 1_796_170_000;
export const US = 1001;

const refOf = (links = 1, number = 1): RefOf<"slurm"> => ({
  kind: "slurm",
  marker: `us-r-a${number}`,
  folder: `/runs/r/attempts/${number}`,
  cluster: null,
  jobs: Array.from({ length: links }, (_, index) => ({ id: String(11 + index), link: index + 1 })),
  submittedAt: (NOW - 5000) * 1000,
});

export const queued = (state: string, changes: Partial<QueuedJob> = {}): QueuedJob => ({
  id: "11",
  state: readState(state),
  reason: "None",
  nodes: "n1",
  uid: US,
  submit: NOW - 4000,
  start: NOW - 3000,
  end: NOW - 1000,
  name: "us-r-a1",
  comment: "",
  ...changes,
});

export const accounted = (state: string, changes: Partial<AccountedJob> = {}): AccountedJob => ({
  id: "11",
  state: readState(state),
  exit: "0:0",
  uid: US,
  submit: NOW - 4000,
  start: NOW - 3000,
  end: NOW - 1000,
  nodes: "n1",
  name: "us-r-a1",
  ...changes,
});

export interface Told {
  readonly links?: number;
  readonly number?: number;
  /** Link → its row in the queue. */
  readonly queue?: Readonly<Record<number, QueuedJob>>;
  /** Link → its runs; undefined: the accounts are not asked. */
  readonly accounts?: Readonly<Record<number, readonly AccountedJob[]>> | "none" | "failed";
  readonly young?: boolean;
  readonly files?: Readonly<Record<string, string>>;
  readonly claims?: Readonly<Record<string, string>>;
  readonly whole?: boolean;
  /** The cluster does not say who we are. */
  readonly nobody?: boolean;
  /** The files lie on a network filesystem. */
  readonly network?: boolean;
  readonly token?: string;
}

export const sceneOf = (told: Told): Scene => {
  const token = told.token === undefined ? {} : { token: told.token };
  const ref = { ...refOf(told.links, told.number), ...token };
  const run: RunFiles = {
    files: new Map(Object.entries(told.files ?? {})),
    claims: new Map(Object.entries(told.claims ?? {})),
    attempts: [1],
    unread: null,
    isLocal: told.network !== true,
    secrets: [],
  };
  const rows = typeof told.accounts === "object" ? told.accounts : {};
  const state: AccountsState =
    told.accounts === undefined
      ? { kind: "not-asked" }
      : told.accounts === "none"
        ? { kind: "none" }
        : told.accounts === "failed"
          ? { kind: "failed", why: "sacct: Connection refused" }
          : { kind: "asked" };
  return {
    ref,
    jobs: ref.jobs.map(({ id, link }): JobView => ({
      id,
      link,
      queued: told.queue?.[link],
      runs: rows[link] ?? [],
      isYoung: told.young === true,
    })),
    evidence: attemptEvidence(ref, run),
    uid: told.nobody === true ? null : US,
    accounts: state,
    isQueueWhole: told.whole ?? true,
    now: NOW,
  };
};

export const begun = (number = 1, job = "11"): Readonly<Record<string, string>> => ({
  [`links/1-${number}.json`]: JSON.stringify({
    schemaVersion: 1,
    first: 1,
    link: 1,
    links: 1,
    job,
    restart: 0,
    host: "n1",
    decision: "run",
    attempt: number,
    progress: 0,
    reason: "",
    at: "2026-11-29T00:00:00Z",
  }),
  [`attempts/${number}/supervisor.json`]: JSON.stringify({
    schemaVersion: 1,
    marker: `us-r-a${number}`,
    token: "t",
    pid: 1,
    startTime: "1",
    bootId: "b",
    host: "n1",
    pgid: 1,
    payload: null,
  }),
});

export const result = (
  exitCode: number,
  changes: Partial<WrapperResult> = {},
): Readonly<Record<string, string>> => ({
  ...begun(),
  "attempts/1/result.json": JSON.stringify({
    schemaVersion: 1,
    marker: "us-r-a1",
    exitCode,
    signal: null,
    startedAt: new Date((NOW - 2900) * 1000).toISOString(),
    endedAt: new Date((NOW - 1000) * 1000).toISOString(),
    host: "n1",
    reason: "exited",
    ...changes,
  }),
});
