import {
  adjustPValues,
  differenceInDifferences,
  estimateMean,
  rawGap,
  signFlipTest,
  type DifferenceInDifferences,
  type Estimate,
  type Reason,
  type RoleGain,
} from "../stats/index.ts";
import type { Cell } from "./cell.ts";
import type { Prepared } from "./prepare.ts";

/** What an estimator says, as a cell shows it: 95 % bounds, or why there are none. */
export type Shown = Pick<Cell, "estimate" | "lo" | "hi" | "reason">;

export const SELECTED_ON_TEST = "chosen on this test set: an interval would be optimistic";
export const ZERO_VARIANCE = "zero variance over roles";
export const SAME_WEIGHTS = "same weights under two names";
export const TOO_FEW_ROLES = "fewer than 8 roles on a side: no verdict";
export const NO_UNSEEN_ROLES = "every test role was trained on: there is no unseen role";

const REASONS: Readonly<Partial<Record<Reason, string>>> = {
  no_data: "nothing was scored",
  fewer_than_2_clusters: "one role: no interval",
  fewer_than_2_per_side: "fewer than two roles on a side",
  no_unseen_roles: NO_UNSEEN_ROLES,
  no_seen_roles: "no test role was trained on: there is no seen role",
  denominator_not_positive: "there is no gain on seen roles to retain",
};

/** An estimate of the statistics as a cell shows it. */
export const shown = (estimate: Estimate): Shown =>
  estimate.status === "estimated"
    ? {
        estimate: estimate.estimate,
        lo: estimate.interval[0],
        hi: estimate.interval[1],
        reason: estimate.zeroVariance ? ZERO_VARIANCE : null,
      }
    : { estimate: estimate.estimate, lo: null, hi: null, reason: reasonText(estimate.reason) };

/** Mean of role values with a t interval on the number of roles less one. */
export const meanOverRoles = (roles: ReadonlyMap<string, number>): Shown =>
  shown(estimateMean([...roles.values()]));

/** Mean of paired role differences, and the sign-flip p value of no difference. */
export const pairedOverRoles = (
  differences: ReadonlyMap<string, number>,
  options: { readonly sameWeights: boolean; readonly draws: number },
): { readonly shown: Shown; readonly p: number | null } => {
  const values = [...differences.values()];
  const estimate = shown(estimateMean(values));
  const noted =
    options.sameWeights && estimate.estimate !== null ? { ...estimate, reason: SAME_WEIGHTS } : estimate;
  const p = values.length < 2 ? null : signFlipTest(values, { exactUpTo: 16, draws: options.draws }).p;
  return { shown: noted, p };
};

/** Benjamini–Hochberg over the p values given, in their order. */
export const adjusted = (ps: readonly (number | null)[]): readonly (number | null)[] =>
  adjustPValues(
    ps.map((p, index) => ({ name: String(index), p })),
    "bh",
  ).map((test) => test.adjusted);

/** Gains by role on both sides and what the statistics make of them. */
export const contrastOf = (
  seen: ReadonlyMap<string, number>,
  unseen: ReadonlyMap<string, number>,
): { readonly did: Shown; readonly retention: Shown } => {
  const result = differenceInDifferences({ seen: gains(seen), unseen: gains(unseen) }, { draws: 1 });
  if (result.status === "undefined") {
    const none = { estimate: null, lo: null, hi: null, reason: reasonText(result.reason) };
    return { did: none, retention: none };
  }
  const few = result.verdictAllowed ? null : TOO_FEW_ROLES;
  const gamma = shown(result.gamma);
  return { did: { ...gamma, reason: few ?? gamma.reason }, retention: retentionOf(result, few) };
};

/** Unseen less seen, without any claim: roles differ in difficulty. */
export const rawGapOf = (
  seen: ReadonlyMap<string, number>,
  unseen: ReadonlyMap<string, number>,
): number | null => rawGap([...seen.values()], [...unseen.values()]);

/**
 * Takes the interval away where one of the systems was chosen on the very test set it is now measured on: the best of
 * several looks better than it is.
 */
export const contaminated = (prepared: Prepared, systems: readonly string[], estimate: Shown): Shown => {
  const { selection, comparison } = prepared.input;
  const affected = selection.set === "test" && systems.some((id) => prepared.same(id, comparison.chosen));
  return affected ? { ...estimate, lo: null, hi: null, reason: SELECTED_ON_TEST } : estimate;
};

const reasonText = (reason: Reason): string => REASONS[reason] ?? reason.replaceAll("_", " ");

const gains = (values: ReadonlyMap<string, number>): RoleGain[] =>
  [...values].map(([cluster, difference]) => ({ cluster, difference }));

function retentionOf(
  { retention }: Extract<DifferenceInDifferences, { status: "estimated" }>,
  few: string | null,
): Shown {
  const { estimate } = retention;
  if (retention.status === "undefined")
    return { estimate, lo: null, hi: null, reason: reasonText(retention.reason) };
  if (retention.status === "unbounded")
    return { estimate, lo: null, hi: null, reason: "unbounded: the gain on seen roles may be nothing" };
  return { estimate, lo: retention.interval[0], hi: retention.interval[1], reason: few };
}
