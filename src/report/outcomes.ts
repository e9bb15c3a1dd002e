import {
  FAILURE_CLASSES,
  type FailureClass,
  METRICS,
  type UncheckedFailure,
  UNCHECKED_FAILURES,
} from "../evaluate/index.ts";
import { isJudged } from "./judged-values.ts";
import type { Prepared } from "./prepare.ts";

/** Something that is counted or averaged, with what a reader needs to read it. */
export interface Outcome {
  readonly id: string;
  readonly group: "likelihood" | "measure" | "failures" | "judged";
  readonly label: string;
  readonly unit: string;
  /** Which direction is good; null where neither is. */
  readonly better: "lower" | "higher" | null;
  readonly digits: number;
}

export const NLL: Outcome = {
  id: "nll",
  group: "likelihood",
  label: "Role-text NLL",
  unit: "nats/token",
  better: "lower",
  digits: 3,
};

export const FAILED: Outcome = {
  id: "failed",
  group: "failures",
  label: "Failed answers",
  unit: "answers",
  better: "lower",
  digits: 0,
};

type Known = Pick<Outcome, "label" | "better" | "digits">;

// By the beginning of the name: measures come with suffixes for their unit or model.
const MEASURES: readonly (readonly [RegExp, Known])[] = [
  [/^(duration|seconds$)/, { label: "Duration", better: null, digits: 2 }],
  [/^silence/, { label: "Silence share", better: null, digits: 3 }],
  [/^clip/, { label: "Clipped share", better: "lower", digits: 4 }],
  [/^(characters|chars)_per_second/, { label: "Characters per second", better: null, digits: 1 }],
  [/^seconds_per_char/, { label: "Seconds per character", better: null, digits: 3 }],
  [/^f0_(spread|sd|std)/, { label: "F0 spread", better: null, digits: 2 }],
  [/^f0_(median|mean)/, { label: "F0", better: null, digits: 1 }],
  [/^dnsmos.*ov(e?r)/, { label: "DNSMOS overall", better: "higher", digits: 2 }],
  [/^dnsmos.*sig/, { label: "DNSMOS speech", better: "higher", digits: 2 }],
  [/^dnsmos.*ba?k/, { label: "DNSMOS background", better: "higher", digits: 2 }],
  [/^wer/, { label: "Word error rate of own text", better: "lower", digits: 3 }],
  [/^speaker_cosine/, { label: "Speaker similarity", better: "higher", digits: 3 }],
];

const FAILURE_LABELS: Readonly<Record<FailureClass | UncheckedFailure, string>> = {
  missing: "missing",
  silent: "silent",
  cut: "cut",
  wrong_language: "wrong language",
  error: "other error",
};

export const failureOutcome = (failure: FailureClass | UncheckedFailure): Outcome => ({
  ...FAILED,
  id: `failed_${failure}`,
  label: `of these ${FAILURE_LABELS[failure]}`,
});

/** Test over reference. */
export const JUDGED_UNIT = "ratio";
export const OVERALL = "overall";
export const RATIO_OF_MEANS = "ratio_of_means";
export const GEOMETRIC_MEAN = "geometric_mean";

/** The eight metrics and their overall: reported even where nobody judged. */
const JUDGED: readonly Outcome[] = [...METRICS, OVERALL].map(judgedOutcome);

/** One of the eight metrics, their overall, or `METRIC.SCALE`: a metric on one of the two other scales. */
export function judgedOutcome(id: string): Outcome {
  const scale = id.split(".")[1];
  const label = scale === undefined ? words(id) : `as ${scale.replaceAll("_", " ")}`;
  return { id, group: "judged", label, unit: JUDGED_UNIT, better: "higher", digits: 3 };
}

const onAllScales = ({ id }: Outcome): readonly Outcome[] =>
  [id, ...(id === OVERALL ? [] : [`${id}.${RATIO_OF_MEANS}`, `${id}.${GEOMETRIC_MEAN}`])].map(judgedOutcome);

/** All outcomes of an evaluation in the order of the tables. */
export const outcomesOf = ({ systems, suites, result, input }: Prepared): readonly Outcome[] => {
  const units = new Map<string, string>();
  for (const { id: system } of systems) {
    for (const { id: suite } of suites) {
      for (const { measure, unit } of result(system, suite).measures) units.set(measure, unit);
    }
  }
  const measures = [...units].map(([id, unit]) => measureOutcome(id, unit));
  const order = measures.toSorted((a, b) => rankOf(a.id) - rankOf(b.id) || (a.id < b.id ? -1 : 1));
  const failures = [...FAILURE_CLASSES, ...UNCHECKED_FAILURES].map(failureOutcome);
  const judged = isJudged(input.evaluation) ? JUDGED.flatMap(onAllScales) : JUDGED;
  return [NLL, ...order, FAILED, ...failures, ...judged];
};

function measureOutcome(id: string, unit: string): Outcome {
  const known = MEASURES[rankOf(id)]?.[1] ?? { label: words(id), better: null, digits: 3 };
  return { id, group: "measure", unit, ...known };
}

function rankOf(id: string): number {
  const index = MEASURES.findIndex(([pattern]) => pattern.test(id));
  return index === -1 ? MEASURES.length : index;
}

function words(id: string): string {
  const text = id.replaceAll("_", " ");
  return text.slice(0, 1).toUpperCase() + text.slice(1);
}
