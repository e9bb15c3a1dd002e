import type { Judge } from "./judge.ts";
import { METRICS, type MetricName, type Verdict } from "./schema.ts";

/** The judge of a machine that has none: nothing is scored and nothing is guessed. */
export const noJudge = (reason: string): Judge => ({
  identity: { status: "none", reason },
  judge: async ({ metrics }) => metrics.map(unscored),
});

/** The eight metrics without a judge; their overall is null. */
export const withoutJudge = (): { readonly verdicts: readonly Verdict[]; readonly overall: null } => ({
  verdicts: METRICS.map(unscored),
  overall: null,
});

function unscored(metric: MetricName): Verdict {
  return { status: "unscored", metric, reason: "no_judge", raw: null };
}
