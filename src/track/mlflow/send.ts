import { sha256 } from "../../core/hash.ts";
import { MOST_PAIRS, MOST_POINTS, type Mlflow, type Pair, type Point } from "./client.ts";
import { MlflowError } from "./error.ts";
import type { Marks } from "./points.ts";

export interface PointsWork {
  /** What is there already. */
  readonly marks: Marks;
  /** Points were sent before whose reply never came. */
  readonly doubtful: boolean;
  /** Kept before and after each effect. */
  readonly save: (change: { readonly marks?: Marks; readonly doubtful?: boolean }) => void;
}

/**
 * Sends points, a thousand at a time; each is marked once the server has said yes. After a lost reply the server is asked
 * first which of them it has: one that keeps files would have them twice.
 */
export const sendPoints = async (
  mlflow: Mlflow,
  id: string,
  points: readonly Point[],
  work: PointsWork,
): Promise<void> => {
  if (points.length === 0) return;
  let marks = work.marks;
  const missing = work.doubtful ? await notThere(mlflow, id, points) : points;
  work.save({ doubtful: true });
  for (let from = 0; from < missing.length; from += MOST_POINTS) {
    const batch = missing.slice(from, from + MOST_POINTS);
    try {
      await mlflow.logPoints(id, batch);
    } catch (error) {
      // All of it or nothing was taken, and this says which.
      if (error instanceof MlflowError && !error.maybeDone) work.save({ doubtful: false });
      throw error;
    }
    marks = marked(marks, batch);
    work.save({ marks });
  }
  work.save({ marks: marked(marks, points), doubtful: false });
};

async function notThere(mlflow: Mlflow, id: string, points: readonly Point[]): Promise<readonly Point[]> {
  const there = new Map<string, ReadonlySet<number>>();
  for (const key of new Set(points.map((point) => point.key))) there.set(key, await mlflow.steps(id, key));
  return points.filter(({ key, step }) => there.get(key)?.has(step) !== true);
}

function marked(marks: Marks, points: readonly Point[]): Marks {
  const reached = { ...marks };
  for (const { key, step } of points) reached[key] = Math.max(step, reached[key] ?? -1);
  return reached;
}

// Longest values of parameters: since 2.8, since 1.28, and before.
const PARAM_LENGTHS = [6000, 500, 250] as const;
const TAG_LENGTH = 5000;

/** Sends parameters, cut only as far as this server asks for. Those that are there already stay as they are. */
export const sendParams = async (mlflow: Mlflow, id: string, params: readonly Pair[]): Promise<void> => {
  for (const pairs of chunks(params)) {
    for (const length of PARAM_LENGTHS) {
      try {
        await mlflow.logParams(
          id,
          pairs.map(({ key, value }) => ({ key, value: shortened(value, length) })),
        );
        break;
      } catch (error) {
        if (!(error instanceof MlflowError)) throw error;
        // They never change; who cut them before may have cut them elsewhere. Some servers call it an error of their own.
        if (error.message.includes("Changing param values")) break;
        if (error.word !== "INVALID_PARAMETER_VALUE") throw error;
        if (length === PARAM_LENGTHS.at(-1)) throw error;
      }
    }
  }
};

/** Sends tags; one that is there already gets the new value. */
export const sendTags = async (mlflow: Mlflow, id: string, tags: readonly Pair[]): Promise<void> => {
  for (const pairs of chunks(tags)) {
    await mlflow.setTags(
      id,
      pairs.map(({ key, value }) => ({ key, value: shortened(value, TAG_LENGTH) })),
    );
  }
};

/** Text of at most so many characters; what was cut can be told apart by its digest. */
export const shortened = (text: string, length: number): string =>
  text.length <= length ? text : `${text.slice(0, length - 25)}… (sha256 ${sha256(text).slice(0, 12)})`;

function* chunks(pairs: readonly Pair[]): Generator<readonly Pair[]> {
  for (let from = 0; from < pairs.length; from += MOST_PAIRS) yield pairs.slice(from, from + MOST_PAIRS);
}
