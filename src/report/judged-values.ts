import { UserError } from "../core/errors.ts";
import {
  type Evaluation,
  type JudgedVerdict,
  type MetricName,
  SUITES,
  type SuiteId,
} from "../evaluate/index.ts";
import { compareText, instanceRatio, pairRatio, type Pair } from "../stats/index.ts";
import type { Prepared } from "./prepare.ts";

/** One dialogue of one system under one metric. */
export interface JudgedDialogue {
  readonly dialogue: string;
  readonly role: string;
  /** Mean over the references (and orders) of test/reference; null unless every call has a score. */
  readonly ratio: number | null;
  /** The calls behind `ratio`; empty where it is null. */
  readonly pairs: readonly Pair[];
  /** Why calls have no score, one entry a call. */
  readonly unscored: readonly string[];
}

interface Place {
  readonly system: string;
  readonly suite: SuiteId;
}
export type JudgedValues = (place: Place, metric: MetricName) => readonly JudgedDialogue[];

/** True when there is something to average: a judge answered, however few scores it gave. */
export const isJudged = ({ judge, verdicts = [] }: Evaluation): boolean =>
  judge.status === "used" && verdicts.length > 0;

/**
 * The dialogues of a suite with their scores. All dialogues and systems are owed the same calls: every reference in every
 * order that the evaluation holds, so that no system looks better for having been heard against fewer.
 * UserErrors `REPORT_VERDICT_UNKNOWN`, `REPORT_VERDICT_TWICE`, `REPORT_VERDICT_UNJUDGED`.
 */
export const judgedValues = (prepared: Prepared): JudgedValues => {
  const { verdicts = [], judge } = prepared.input.evaluation;
  if (judge.status === "none" && verdicts.some(({ verdict }) => verdict.status === "scored"))
    throw new UserError("REPORT_VERDICT_UNJUDGED", "There are scores, but the evaluation names no judge");
  const byKey = new Map<string, JudgedVerdict>();
  for (const verdict of verdicts) {
    refuseUnknown(prepared, verdict);
    const key = keyOf(verdict, verdict.verdict.metric, callOf(verdict));
    if (byKey.has(key)) throw new UserError("REPORT_VERDICT_TWICE", `There are two verdicts of ${key}`);
    byKey.set(key, verdict);
  }
  const calls = [...new Set(verdicts.map(callOf))].toSorted(compareText);
  return (place, metric) =>
    dialoguesOf(prepared, place.suite).map(([dialogue, role]) => {
      const found = calls.map((call) => byKey.get(keyOf({ ...place, dialogue }, metric, call)));
      const pairs = found.map(pairOf);
      const { ratio } = instanceRatio(pairs, "complete");
      return {
        dialogue,
        role,
        ratio,
        pairs: ratio === null ? [] : pairs.filter((pair) => pair !== null),
        unscored: found.flatMap(reasonOf),
      };
    });
};

const callOf = ({ reference, order }: JudgedVerdict): string => `${reference}, ${order}`;

const keyOf = (
  { system, suite, dialogue }: Place & { readonly dialogue: string },
  metric: MetricName,
  call: string,
): string => JSON.stringify([system, suite, dialogue, metric, call]);

const dialoguesOf = ({ suites }: Prepared, id: SuiteId): readonly (readonly [string, string])[] => {
  const expected = suites.find((suite) => suite.id === id)?.expected ?? [];
  return [...new Map(expected.map(({ dialogue, role }) => [dialogue, role]))];
};

function pairOf(found: JudgedVerdict | undefined): Pair | null {
  if (found === undefined || found.verdict.status === "unscored") return null;
  const { test, reference } = found.verdict.scores;
  return [test, reference];
}

function reasonOf(found: JudgedVerdict | undefined): readonly string[] {
  if (found === undefined) return ["no_verdict"];
  if (found.verdict.status === "unscored") return [found.verdict.reason];
  const { test, reference } = found.verdict.scores;
  return pairRatio([test, reference]).status === "scored" ? [] : ["out_of_range"];
}

function refuseUnknown(prepared: Prepared, { system, suite, dialogue }: JudgedVerdict): void {
  const known =
    SUITES.includes(suite) &&
    prepared.systems.some(({ id }) => id === system) &&
    prepared.suites.some(
      ({ id, expected }) => id === suite && expected.some((instance) => instance.dialogue === dialogue),
    );
  if (known) return;
  throw new UserError(
    "REPORT_VERDICT_UNKNOWN",
    `There is a verdict of system "${system}" on dialogue "${dialogue}" of ${suite}, which this evaluation does not hold`,
  );
}
