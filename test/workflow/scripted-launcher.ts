import { RemoteError } from "../../src/core/errors.ts";
import { sha256 } from "../../src/core/hash.ts";
import {
  jobKey,
  type Finding,
  type JobRef,
  type Launcher,
  type LogChunk,
  type Observation,
  type Plan,
  type Submission,
} from "../../src/launch/index.ts";

type Answer<Value> = Value | (() => Value | Promise<Value>);

/** A launcher that does what a test tells it, and keeps what it was asked. It runs nothing. */
export interface Scripted {
  readonly launcher: Launcher;
  /** What is seen of a marker. Default: live. A function may throw. */
  readonly sights: Map<string, Answer<Observation>>;
  /** Answers to the next submits; default: accepted. */
  readonly submits: Answer<Submission>[];
  /** What is found of a marker; default: none. */
  readonly finds: Map<string, Answer<Finding>>;
  /** Files of runs, by `RUN/path`. */
  readonly files: Map<string, Buffer>;
  /** What cancel does; default: says that it was asked. */
  cancel: (ref: JobRef) => void;
  /** What reading of logs does before it answers. */
  beforeLogs: (ref: JobRef) => void;
  readonly asked: {
    readonly plans: Plan[];
    readonly finds: string[];
    /** One entry for each question, with the markers it was about. */
    readonly observed: string[][];
    readonly cancelled: string[];
    readonly digests: string[];
    reads: number;
    lists: number;
    closed: number;
  };
}

const answerOf = async <Value extends object>(answer: Answer<Value>): Promise<Value> =>
  typeof answer === "function" ? answer() : answer;

export const refOf = (marker: string, folder: string): JobRef => ({
  kind: "slurm",
  marker,
  folder,
  cluster: null,
  jobs: [{ id: "17", link: 1 }],
  submittedAt: 0,
});

export const scripted = (): Scripted => {
  const self: Omit<Scripted, "launcher"> = {
    sights: new Map(),
    submits: [],
    finds: new Map(),
    files: new Map(),
    cancel: () => undefined,
    beforeLogs: () => undefined,
    asked: { plans: [], finds: [], observed: [], cancelled: [], digests: [], reads: 0, lists: 0, closed: 0 },
  };
  const fileOf = (ref: JobRef, path: string): Buffer => {
    const file = self.files.get(`${runOf(ref)}/${path}`);
    if (file) return file;
    throw new RemoteError("ARTIFACT_MISSING", `There is no ${path}`);
  };
  const launcher: Launcher = {
    kind: "slurm",
    validate: () => [],
    plan: (job, attempt) => ({
      kind: "slurm",
      runId: job.runId,
      attempt,
      files: [],
      argv: ["sbatch"],
      cwd: `${job.runFolder}/attempts/${attempt.number}`,
      environment: {},
      uploads: [],
      prepares: null,
      request: null,
    }),
    probe: async () => [],
    preflight: async () => [],
    submit: async (plan) => {
      self.asked.plans.push(plan);
      const answer = self.submits.shift();
      return answer === undefined
        ? { outcome: "accepted", refs: [refOf(plan.attempt.marker, plan.cwd)] }
        : answerOf(answer);
    },
    find: async (plan) => {
      self.asked.finds.push(plan.attempt.marker);
      return answerOf(self.finds.get(plan.attempt.marker) ?? { outcome: "none" });
    },
    observe: async (refs) => {
      self.asked.observed.push(refs.map(({ marker }) => marker));
      const entries = refs.map(async (ref) => {
        const sight = self.sights.get(ref.marker) ?? { phase: "live", detail: "", state: "running" };
        return [jobKey(ref), await answerOf<Observation>(sight)] as const;
      });
      return new Map(await Promise.all(entries));
    },
    logs: async function* (ref, cursor): AsyncGenerator<LogChunk> {
      self.beforeLogs(ref);
      const number = ref.folder.split("/").at(-1) ?? "";
      const text = self.files.get(`${runOf(ref)}/attempts/${number}/log.txt`)?.toString("utf8") ?? "";
      const lines = text.split("\n").slice(0, -1).slice(cursor.offset);
      for (const [at, line] of lines.entries()) {
        const offset = cursor.offset + at + 1;
        yield { lines: [line], cursor: { offset, token: `t${offset}` } };
      }
    },
    artifacts: (ref) => ({
      list: async (folder) => {
        self.asked.lists += 1;
        const prefix = `${runOf(ref)}/`;
        return [...self.files].flatMap(([path, bytes]) =>
          path.startsWith(`${prefix}${folder}/`)
            ? [{ path: path.slice(prefix.length), bytes: bytes.length }]
            : [],
        );
      },
      read: async (path, start = 0, end = Infinity) => {
        self.asked.reads += 1;
        return fileOf(ref, path).subarray(start, end);
      },
      digest: async (path) => {
        self.asked.digests.push(path);
        return sha256(fileOf(ref, path));
      },
      download: async () => {
        throw new RemoteError("NOT_SCRIPTED", "nothing is downloaded in these tests");
      },
    }),
    cancel: async (ref) => {
      self.asked.cancelled.push(ref.marker);
      self.cancel(ref);
      return "requested";
    },
    close: async () => {
      self.asked.closed += 1;
    },
  };
  return Object.assign(self, { launcher });
};

const runOf = ({ folder }: JobRef): string => folder.split("/").at(-3) ?? "";
