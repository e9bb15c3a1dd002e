import { messageOf, UnderstudyError } from "../core/errors.ts";
import type { Project } from "../core/project.ts";
import type { Check } from "../launch/index.ts";
import { mlflowClient, mlflowTarget, type MirrorRow, type MlflowWorld, type Store } from "../track/index.ts";

/** Where a run stands in MLflow, and whether everything of it is there. */
export interface MirrorState {
  /** Page of the run; the server's address while there is none. */
  readonly link: string;
  readonly isBehind: boolean;
  /** What is so, for people. */
  readonly words: string;
}

/** The newest copy of a run; null when it is not copied. Asks no server. */
export const mirrorState = (store: Store, runId: string): MirrorState | null => {
  const row = store.mirrors.of(runId).at(-1);
  if (row === undefined) return null;
  const isBehind = store.mirrors.behind(row.target).includes(runId);
  return { link: linkOf(row), isBehind, words: wordsOf(row, isBehind) };
};

function linkOf({ target, experimentId, remoteId }: MirrorRow): string {
  const uri = target.slice(0, target.indexOf("#"));
  return remoteId === null ? uri : `${uri}/#/experiments/${experimentId ?? "0"}/runs/${remoteId}`;
}

function wordsOf({ trouble, troubleSince, remoteId }: MirrorRow, isBehind: boolean): string {
  if (!isBehind) return "up to date";
  if (trouble !== null) return `behind since ${troubleSince ?? "?"}: ${trouble}`;
  return remoteId === null ? "not sent yet" : "not all sent yet";
}

/** Whether the MLflow server of a project answers and lets us in; null when none is configured. */
export const doctorMlflow = async (
  project: Project,
  environment: Readonly<Record<string, string | undefined>>,
  world: MlflowWorld,
): Promise<Check | null> => {
  const name = "MLflow";
  try {
    const target = await mlflowTarget(project, environment);
    if (target === null) return null;
    const mlflow = mlflowClient(target, world);
    const version = (await mlflow.version()) ?? "of a version that it does not tell";
    const experiment = await mlflow.experiment(target.experiment);
    const place = `experiment "${target.experiment}"`;
    const detail = `${target.uri} answers (MLflow ${version})`;
    if (experiment?.deleted === true) {
      const hint = `restore it there (mlflow experiments restore --experiment-id ${experiment.id}), or name another one`;
      return { name, outcome: "failed", detail: `${detail}; ${place} is deleted`, hint };
    }
    const state = experiment === undefined ? "is made with the first run" : "is there";
    const open = isOpenToAll(target.uri) && target.authorization !== null;
    const plain = open ? "; the credential goes there unencrypted" : "";
    return { name, outcome: "ok", detail: `${detail}; ${place} ${state}${plain}` };
  } catch (error) {
    const hint = error instanceof UnderstudyError ? error.hint : undefined;
    return { name, outcome: "failed", detail: messageOf(error), ...(hint === undefined ? {} : { hint }) };
  }
};

const isOpenToAll = (uri: string): boolean =>
  uri.startsWith("http:") && !["127.0.0.1", "localhost", "[::1]"].includes(new URL(uri).hostname);
