import type { Clock } from "../core/clock.ts";
import { messageOf } from "../core/errors.ts";
import type { Project } from "../core/project.ts";
import {
  MlflowError,
  mlflowClient,
  mlflowTarget,
  type MlflowTarget,
  type MlflowWorld,
  type Run,
} from "../track/index.ts";
import { copyRun, troubleText, type Copying } from "./mirror-run.ts";
import type { OnProgress } from "./progress.ts";
import type { Shop } from "./shop.ts";
import { backoff } from "./watch-pace.ts";
import { placesFor } from "./watch-work.ts";

/**
 * Copies training runs to MLflow beside the work, at its own pace. Nothing here waits for it and nothing fails with it: what
 * cannot be copied stays in the store until it can.
 */
export interface Mirror {
  /** From now on this run is copied; something may have changed in it. */
  follow(run: Pick<Run, "id" | "kind">): void;
  /** Whatever is behind is copied, runs that have ended too. */
  nudge(): void;
  /** Goes on as long as the server takes what is sent, then ends all calls. */
  close(): Promise<void>;
}

export interface MirrorRequest extends Pick<Shop, "store" | "clock" | "owner" | "signal"> {
  readonly project: Project;
  readonly environment: Shop["environment"];
  readonly onProgress: OnProgress;
  readonly fetch: typeof fetch;
  /** Milliseconds for one try of one call; default 10,000. */
  readonly timeout?: number;
}

/** The mirror of a project; undefined when none is configured. A configuration that cannot be used is told, once. */
export const openMirror = async (request: MirrorRequest): Promise<Mirror | undefined> => {
  const tell = (text: string): void => request.onProgress({ type: "note", text });
  try {
    const target = await mlflowTarget(request.project, request.environment);
    return target === null ? undefined : mirrorTo(target, request, tell);
  } catch (error) {
    return unusable(() => tell(`nothing is written to MLflow: ${messageOf(error)}`));
  }
};

function unusable(tell: () => void): Mirror {
  let told = false;
  const once = (): void => {
    if (!told) tell();
    told = true;
  };
  return { follow: once, nudge: once, close: async () => undefined };
}

const AT_ONCE = 4;
const SECOND = 1000;
const ROUND = SECOND;
/** How long the end of a program waits for a server that takes nothing, and at all. */
const QUIET = 5 * SECOND;
const LONGEST_CLOSE = 60 * SECOND;
const SILENCE = { first: 5 * SECOND, longest: 5 * 60 * SECOND };
const REFUSAL = { first: 60 * SECOND, longest: 60 * 60 * SECOND };

/** Refusals that are not about one run. */
const FOR_ALL = new Set([
  "MLFLOW_DENIED",
  "MLFLOW_REDIRECTS",
  "MLFLOW_EXPERIMENT_DELETED",
  "MLFLOW_EXPERIMENT_HIDDEN",
]);

interface Pause {
  readonly tries: number;
  /** Milliseconds since the epoch. */
  readonly until: number;
}

function mirrorTo(target: MlflowTarget, request: MirrorRequest, tell: (text: string) => void): Mirror {
  const { store, clock, owner } = request;
  const ending = new AbortController();
  const hurry = new AbortController();
  const signal = AbortSignal.any([request.signal, ending.signal]);
  const world: MlflowWorld = {
    clock,
    signal,
    fetch: async (...words) => {
      const answer = await request.fetch(...words);
      heard = clock.now();
      return answer;
    },
    ...(request.timeout === undefined ? {} : { timeout: request.timeout }),
  };
  const copying: Copying = { store, clock, owner, signal, mlflow: mlflowClient(target, world) };
  const places = placesFor(AT_ONCE);
  const refused = new Map<string, Pause>();
  const followed = new Set<string>();
  let silence: Pause = { tries: 0, until: 0 };
  let wanted = false;
  let heard = clock.now();
  let working: Promise<void> | undefined;
  let told = "";

  const opened = (id: string): void => {
    try {
      store.mirrors.open(id, target.key);
      followed.add(id);
    } catch (error) {
      // The store may be in use by others for long: the next look tries again.
      tellOnce(`nothing is written to MLflow now: ${messageOf(error)}`);
    }
  };
  const tellOnce = (text: string): void => {
    if (told !== text) tell(text);
    told = text;
  };
  const copyOne = async (id: string): Promise<void> => {
    if (signal.aborted || clock.now() < silence.until) return;
    try {
      if ((await copyRun(copying, id)) === "held") return;
      refused.delete(id);
      if (silence.tries > 0) tell(`MLflow at ${target.uri} answers again`);
      silence = { tries: 0, until: 0 };
      told = "";
    } catch (error) {
      if (signal.aborted) return;
      failed(id, error);
    }
  };
  const failed = (id: string, error: unknown): void => {
    const words = target.mask(troubleText(error));
    if (error instanceof MlflowError && (error.kind === "silent" || FOR_ALL.has(error.code))) {
      const wait = Math.max(error.wait, backoff({ ...SILENCE, tries: silence.tries + 1, key: owner }));
      if (clock.now() >= silence.until) silence = { tries: silence.tries + 1, until: clock.now() + wait };
      if (told !== error.code) tell(`${words}; runs go on, and what is missing there is sent later`);
      told = error.code;
      return;
    }
    const tries = (refused.get(id)?.tries ?? 0) + 1;
    refused.set(id, { tries, until: clock.now() + backoff({ ...REFUSAL, tries, key: id }) });
    tellOnce(`run ${id} is not written to MLflow: ${words}`);
  };
  const rounds = async (): Promise<void> => {
    while (wanted && !signal.aborted && clock.now() >= silence.until) {
      wanted = false;
      const due = store.mirrors
        .behind(target.key)
        .filter((id) => (refused.get(id)?.until ?? 0) <= clock.now());
      await Promise.all(due.map(async (id) => places(async () => copyOne(id))));
      if (!hurry.signal.aborted) await rest(clock, ROUND, hurry.signal);
    }
  };
  const nudge = (): void => {
    wanted = true;
    working ??= rounds()
      .catch((error: unknown) => tellOnce(`nothing is written to MLflow now: ${messageOf(error)}`))
      .finally(() => (working = undefined));
  };
  return {
    nudge,
    follow: ({ id, kind }) => {
      if (kind !== "train") return;
      if (!followed.has(id)) opened(id);
      nudge();
    },
    close: async () => {
      hurry.abort();
      if (wanted) nudge();
      const patience = clock.now() + LONGEST_CLOSE;
      heard = clock.now();
      for (let work = working; work !== undefined && !request.signal.aborted; work = working) {
        if (clock.now() > patience || clock.now() - heard > QUIET) break;
        await rest(clock, 50, request.signal, work);
      }
      ending.abort(new Error("The program ends"));
      await working;
    },
  };
}

/** Sleeps, or not as long: until `done`, or until the signal says so. */
async function rest(
  clock: Clock,
  milliseconds: number,
  signal: AbortSignal,
  done?: Promise<void>,
): Promise<void> {
  const woken = new AbortController();
  try {
    const sleep = clock.sleep(milliseconds, AbortSignal.any([signal, woken.signal]));
    await Promise.race(done === undefined ? [sleep] : [sleep, done]);
  } catch (error) {
    if (!signal.aborted) throw error;
  } finally {
    woken.abort();
  }
}
