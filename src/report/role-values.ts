import { instanceKey, type SuiteResult } from "../evaluate/index.ts";
import { sum as exactSum } from "../stats/index.ts";
import { NLL, type Outcome } from "./outcomes.ts";

/** One instance's share of a role value: NLL and tokens, or a measure and 1. */
export interface InstanceValue {
  readonly key: string;
  readonly role: string;
  readonly sum: number;
  readonly weight: number;
}

/** The instances that have a value for this outcome, in instance order. What is missing is not there. */
export const instanceValues = (result: SuiteResult, outcome: Outcome): readonly InstanceValue[] =>
  outcome.id === NLL.id
    ? result.scores.map((row) => ({
        key: instanceKey(row),
        role: row.role,
        sum: row.nll,
        weight: row.tokens,
      }))
    : result.measures.flatMap((row) =>
        row.measure === outcome.id && row.value !== null
          ? [{ key: instanceKey(row), role: row.role, sum: row.value, weight: 1 }]
          : [],
      );

/** Σ sum / Σ weight inside each role: nats per token of all its turns, or the mean of a measure. Sorted by role. */
export const roleValues = (values: readonly InstanceValue[]): ReadonlyMap<string, number> => {
  const byRole = new Map<string, InstanceValue[]>();
  for (const value of values) byRole.set(value.role, [...(byRole.get(value.role) ?? []), value]);
  return new Map(
    [...byRole.keys()].toSorted().map((role) => {
      const own = byRole.get(role) ?? [];
      return [role, exactSum(own.map(({ sum }) => sum)) / exactSum(own.map(({ weight }) => weight))];
    }),
  );
};

/** Differences a − b by role over the instances that both have. */
export const pairedRoleValues = (
  a: readonly InstanceValue[],
  b: readonly InstanceValue[],
): { readonly differences: ReadonlyMap<string, number>; readonly common: number } => {
  const inB = new Set(b.map(({ key }) => key));
  const common = a.filter(({ key }) => inB.has(key));
  const keys = new Set(common.map(({ key }) => key));
  const [left, right] = [roleValues(common), roleValues(b.filter(({ key }) => keys.has(key)))];
  return {
    differences: new Map([...left].map(([role, value]) => [role, value - (right.get(role) ?? Number.NaN)])),
    common: common.length,
  };
};
