import { type MetricName, METRICS } from "../evaluate/index.ts";
import {
  compareText,
  coverageOf,
  estimateMean,
  type Estimate,
  geometricMean,
  mean,
  overallMean,
  type Pair,
  ratioOfMeans,
  ratioRange,
} from "../stats/index.ts";
import { type Cell, cell } from "./cell.ts";
import { contaminated, shown, type Shown } from "./estimates.ts";
import { fixed } from "./format.ts";
import { isJudged, type JudgedDialogue, type JudgedValues } from "./judged-values.ts";
import { GEOMETRIC_MEAN, judgedOutcome, OVERALL, RATIO_OF_MEANS } from "./outcomes.ts";
import type { Prepared, PreparedSuite } from "./prepare.ts";

interface Place {
  readonly prepared: Prepared;
  readonly suite: PreparedSuite;
  readonly system: string;
}

/**
 * The eight metrics and their overall for one system on one suite. A dialogue counts when all its calls have a score; the
 * mean of ratios is the headline, the two other scales stand beside it. Without verdicts every cell says why it is empty.
 */
export const judgedCells = (place: Place, values: JudgedValues): readonly Cell[] => {
  const { evaluation } = place.prepared.input;
  if (!isJudged(evaluation)) {
    const { judge } = evaluation;
    const reason =
      judge.status === "none" ? "unscored: no judge" : "unscored: no verdicts in this evaluation";
    const dialogues = { roles: 0, scored: 0, expected: place.suite.expected.length };
    return [...METRICS, OVERALL].map((id) => cell({ ...base(place, id), ...dialogues, reason }));
  }
  const metrics = METRICS.map((metric) => ({
    metric,
    dialogues: values({ system: place.system, suite: place.suite.id }, metric),
  }));
  return [...metrics.flatMap((judged) => metricCells(place, judged)), overallCell(place, metrics)];
};

interface Judged {
  readonly metric: MetricName;
  readonly dialogues: readonly JudgedDialogue[];
}

const base = ({ suite, system }: Place, id: string) => {
  const { unit, digits } = judgedOutcome(id);
  return { table: "level", system, suite: suite.id, outcome: id, unit, digits } as const;
};

function metricCells(place: Place, { metric, dialogues }: Judged): readonly Cell[] {
  const scored = dialogues.filter(({ ratio }) => ratio !== null);
  const counts = {
    roles: new Set(scored.map(({ role }) => role)).size,
    scored: scored.length,
    expected: dialogues.length,
  };
  const headline = estimateMean([...meansByRole(dialogues).values()]);
  const logs = grouped(scored, ({ pairs }) => pairs.map(([test, reference]) => Math.log(test / reference)));
  const others = [
    [RATIO_OF_MEANS, ratioOfMeans(grouped<Pair>(scored, ({ pairs }) => pairs))],
    [GEOMETRIC_MEAN, geometricMean(logs)],
  ] as const;
  const notes = [
    unscoredNote(dialogues),
    scalesNote([headline, ...others.map(([, estimate]) => estimate)]),
  ].flatMap((note) => note ?? []);
  return [
    cell({ ...base(place, metric), ...counts, ...limited(place, shown(headline), notes) }),
    ...others.map(([scale, estimate]) =>
      cell({ ...base(place, `${metric}.${scale}`), ...counts, ...limited(place, shown(estimate), []) }),
    ),
  ];
}

// The mean of the eight shown; its interval needs roles that have all eight, and no role left out.
function overallCell(place: Place, metrics: readonly Judged[]): Cell {
  const byMetric = metrics.map(({ metric, dialogues }) => ({ metric, roles: meansByRole(dialogues) }));
  const overall = overallMean(
    byMetric.map(({ metric, roles }) => ({
      name: metric,
      value: roles.size === 0 ? null : mean([...roles.values()]),
    })),
  );
  const roles = [...new Set(byMetric.flatMap(({ roles: own }) => [...own.keys()]))].toSorted(compareText);
  const whole = roles.filter((role) => byMetric.every(({ roles: own }) => own.has(role)));
  const dialogues = metrics[0]?.dialogues ?? [];
  const counts = {
    roles: whole.length,
    scored: dialogues.filter((_, index) =>
      metrics.every((one) => (one.dialogues[index]?.ratio ?? null) !== null),
    ).length,
    expected: dialogues.length,
  };
  const at = { ...base(place, OVERALL), ...counts };
  if (overall.status === "undefined") {
    const names = overall.missing.map((name) => name.replaceAll("_", " ")).join(", ");
    return cell({ ...at, reason: `no overall of the eight without ${names}` });
  }
  if (whole.length < roles.length) {
    const reason = "no interval: not every role has all eight metrics";
    return cell({ ...at, ...limited(place, { estimate: overall.estimate, lo: null, hi: null, reason }, []) });
  }
  const values = whole.map((role) => mean(byMetric.flatMap(({ roles: own }) => own.get(role) ?? [])));
  return cell({ ...at, ...limited(place, shown(estimateMean(values)), []) });
}

function limited({ prepared, system }: Place, estimate: Shown, notes: readonly string[]): Shown {
  const kept = contaminated(prepared, [system], estimate);
  const reasons = [...(kept.reason === null ? [] : [kept.reason]), ...notes];
  return { ...kept, reason: reasons.length === 0 ? null : reasons.join("; ") };
}

const meansByRole = (dialogues: readonly JudgedDialogue[]): ReadonlyMap<string, number> =>
  new Map(
    [...grouped(dialogues, ({ ratio }) => (ratio === null ? [] : [ratio]))].flatMap(([role, ratios]) =>
      ratios.length === 0 ? [] : [[role, mean(ratios)]],
    ),
  );

function grouped<Value>(
  dialogues: readonly JudgedDialogue[],
  valuesOf: (dialogue: JudgedDialogue) => readonly Value[],
): ReadonlyMap<string, readonly Value[]> {
  const groups = new Map<string, readonly Value[]>();
  for (const one of dialogues) groups.set(one.role, [...(groups.get(one.role) ?? []), ...valuesOf(one)]);
  return groups;
}

// Refusals gather in some roles, so what is missing is not a random part: say how far it could move the mean.
function unscoredNote(dialogues: readonly JudgedDialogue[]): string | null {
  const reasons = dialogues.flatMap(({ unscored }) => unscored).toSorted(compareText);
  if (reasons.length === 0) return null;
  const counted = [...new Set(reasons)].map(
    (reason) => `${reason.replaceAll("_", " ")} ${reasons.filter((other) => other === reason).length}`,
  );
  const bounds = [...grouped(dialogues, ({ ratio }) => [ratio]).values()].map(
    (ratios) => coverageOf(ratios, ratioRange()).bounds ?? [Number.NaN, Number.NaN],
  );
  const [low, high] = [mean(bounds.map(([worst]) => worst)), mean(bounds.map(([, best]) => best))];
  return `calls without a score: ${counted.join(", ")}; scored, they would leave the mean between ${fixed(low, 3)} and ${fixed(high, 3)}`;
}

function scalesNote(scales: readonly Estimate[]): string | null {
  const sides = scales.flatMap(({ estimate }) =>
    estimate === null ? [] : [Math.abs(estimate - 1) < 1e-9 ? 0 : Math.sign(estimate - 1)],
  );
  return new Set(sides).size > 1 ? "the three scales disagree on which side of 1 it lies" : null;
}
