import { onTestFinished } from "vitest";
import { systemClock } from "../../src/core/clock.ts";
import { readPayloadLine } from "../../src/track/payload-lines.ts";
import type { Lease, RunState, Store } from "../../src/track/index.ts";
import { openMirror, type Mirror, type MirrorRequest } from "../../src/workflow/mirror.ts";
import type { Progress } from "../../src/workflow/index.ts";
import { startRun, type NewJob } from "../../src/workflow/runs.ts";
import type { Shop } from "../../src/workflow/shop.ts";
import { scriptedStage, type ScriptedStage } from "./scripted.ts";

export interface MirrorStage {
  readonly stage: ScriptedStage;
  readonly shop: Shop;
  readonly said: string[];
  /** The server and experiment, as the table names it. */
  readonly key: string;
  /** A mirror as another program would open it. */
  readonly mirror: (changes?: Partial<MirrorRequest>) => Promise<Mirror>;
  /** A run as it is right after its start. */
  readonly start: (id: string, changes?: Partial<NewJob>) => Promise<void>;
  /** Takes in lines that the payload of a run has written. */
  readonly say: (id: string, ...lines: readonly Readonly<Record<string, unknown>>[]) => void;
  readonly become: (id: string, ...states: readonly RunState[]) => void;
  /** Ends the attempt under way and, unless it was the last, opens another. */
  readonly endAttempt: (id: string, reason: string, more?: boolean) => void;
  /** Copies what can be copied now, as a program does that begins and ends. */
  readonly copy: (changes?: Partial<MirrorRequest>) => Promise<void>;
}

/** A project with a mirror to a server, driven by hand. */
export const mirrorStage = async (
  uri: string,
  experiment: string,
  secrets: Readonly<Record<string, string>> = {},
): Promise<MirrorStage> => {
  const stage = await scriptedStage();
  const shop = stage.shop();
  const said: string[] = [];
  const environment = { MLFLOW_TRACKING_URI: uri, MLFLOW_EXPERIMENT_NAME: experiment, ...secrets };
  const key = `${uri}#${experiment}`;
  let owner = 0;
  const mirror: MirrorStage["mirror"] = async (changes = {}) => {
    const opened = await openMirror({
      project: stage.project,
      store: shop.store,
      clock: systemClock,
      environment,
      fetch,
      owner: `program ${++owner}`,
      signal: new AbortController().signal,
      onProgress: (progress: Progress) => void (progress.type === "note" && said.push(progress.text)),
      ...changes,
    });
    if (opened === undefined) throw new Error("no mirror");
    onTestFinished(async () => opened.close());
    return opened;
  };
  return {
    stage,
    shop,
    said,
    key,
    mirror,
    start: async (id, changes) => {
      await startRun(shop, stage.job(id, changes));
      shop.store.mirrors.open(id, key);
    },
    say: (id, ...lines) =>
      held(shop.store, id, (lease) => {
        const from = shop.store.cursor(id, "events.jsonl");
        const read = lines.map((line, at) => {
          const time = new Date(Date.UTC(2026, 0, 31, 11, 0, from + at)).toISOString();
          return readPayloadLine(JSON.stringify({ v: 1, at: time, ...line }));
        });
        shop.store.ingest(lease, { stream: "events.jsonl", from, to: from + lines.length, lines: read });
      }),
    become: (id, ...states) =>
      held(shop.store, id, (lease) => {
        for (const to of states) {
          shop.store.transition(lease, { from: shop.store.getRun(id).state, to, reason: `is ${to} now` });
        }
      }),
    endAttempt: (id, reason, more = true) =>
      held(shop.store, id, (lease) => {
        const number = shop.store.attempts(id).at(-1)?.number ?? 0;
        shop.store.endAttempt(lease, number, { reason, exitCode: null, evidence: null });
        if (more) shop.store.addAttempt(lease);
      }),
    copy: async (changes) => {
      const opened = await mirror(changes);
      opened.nudge();
      await opened.close();
    },
  };
};

function held(store: Store, id: string, work: (lease: Lease) => void): void {
  const answer = store.acquireLease(id, { owner: "by hand", milliseconds: 60_000 });
  if (answer.outcome !== "acquired") throw new Error(`held by ${answer.owner}`);
  work(answer.lease);
  store.releaseLease(answer.lease);
}

type Line = Readonly<Record<string, unknown>>;

/** Lines of steps `from` to `to`, whose loss says which attempt wrote them. */
export const steps = (attempt: number, from: number, to: number): Line[] =>
  Array.from({ length: to - from + 1 }, (_, at) => ({
    attempt,
    type: "step",
    step: from + at,
    loss: attempt + (from + at) / 1000,
    learningRate: 1e-4,
  }));

export const checkpoint = (attempt: number, step: number): Line => ({ attempt, type: "checkpoint", step });
export const resumed = (attempt: number, step: number): Line => ({ attempt, type: "resumed", step });
export const evaluated = (attempt: number, step: number): Line => ({
  attempt,
  type: "eval",
  step,
  split: "dev",
  loss: attempt,
  tokens: 5,
});

/** The numbers `from` to `to`. */
export const range = (from: number, to: number): number[] =>
  Array.from({ length: to - from + 1 }, (_, at) => from + at);
