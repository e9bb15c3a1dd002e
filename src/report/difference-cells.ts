import { type Cell, cell } from "./cell.ts";
import { adjusted, contaminated, pairedOverRoles, type Shown } from "./estimates.ts";
import { NLL, type Outcome } from "./outcomes.ts";
import type { Prepared, PreparedSuite } from "./prepare.ts";
import { instanceValues, pairedRoleValues } from "./role-values.ts";

/** Two systems that are compared: `a` minus `b`. */
export interface Pair {
  readonly id: string;
  readonly a: string;
  readonly b: string;
}

export const pairOf = (a: string, b: string): Pair => ({ id: `${a}-vs-${b}`, a, b });

/** Chosen − base, last − base, chosen − last; each pair once. */
export const pairsOf = ({ input }: Prepared): readonly Pair[] => {
  const { base, chosen, last } = input.comparison;
  const pairs = [pairOf(chosen, base), pairOf(last, base), pairOf(chosen, last)];
  return [...new Map(pairs.map((pair) => [pair.id, pair])).values()];
};

/** Outcome id of the p value that belongs to a difference. */
export const pOf = (outcome: string): string => `${outcome}.p`;

interface Place {
  readonly prepared: Prepared;
  readonly suite: PreparedSuite;
  readonly pair: Pair;
}

/**
 * Paired differences over the instances that both systems have, by role, with a t interval over roles and a sign-flip p
 * value. The likelihood is the outcome that was fixed beforehand; the measures beside it are exploratory, their p values
 * adjusted for each other (Benjamini–Hochberg).
 */
export const differenceCells = (prepared: Prepared, outcomes: readonly Outcome[]): readonly Cell[] => {
  const measures = outcomes.filter(({ group }) => group === "measure");
  return prepared.suites
    .filter(({ expected }) => expected.length > 0)
    .flatMap((suite) =>
      pairsOf(prepared).flatMap((pair) => {
        const place = { prepared, suite, pair };
        const primary = differenceOf(place, NLL);
        const others = measures.map((outcome) => differenceOf(place, outcome));
        const qs = adjusted(others.map(({ p }) => p));
        return [
          ...cellsOf(place, primary, primary.p),
          ...others.flatMap((other, index) => cellsOf(place, other, qs[index] ?? null)),
        ];
      }),
    );
};

interface Difference {
  readonly outcome: Outcome;
  readonly shown: Shown;
  readonly p: number | null;
  readonly roles: number;
  readonly common: number;
}

// Exploratory p values are shown with two decimals: fewer draws give them, and the report stays quick.
const PRIMARY_DRAWS = 100_000;
const EXPLORATORY_DRAWS = 10_000;

function differenceOf({ prepared, suite, pair }: Place, outcome: Outcome): Difference {
  const { differences, common } = pairedRoleValues(
    instanceValues(prepared.result(pair.a, suite.id), outcome),
    instanceValues(prepared.result(pair.b, suite.id), outcome),
  );
  const paired = pairedOverRoles(differences, {
    sameWeights: prepared.same(pair.a, pair.b),
    draws: outcome.id === NLL.id ? PRIMARY_DRAWS : EXPLORATORY_DRAWS,
  });
  return { outcome, ...paired, roles: differences.size, common };
}

function cellsOf(
  { prepared, suite, pair }: Place,
  difference: Difference,
  p: number | null,
): readonly Cell[] {
  const { outcome, roles, common } = difference;
  const shared = {
    table: "difference",
    system: pair.id,
    suite: suite.id,
    roles,
    scored: common,
    expected: suite.expected.length,
  } as const;
  const limited = contaminated(prepared, [pair.a, pair.b], difference.shown);
  const exploratory = outcome.group === "measure";
  return [
    cell({ ...shared, ...limited, outcome: outcome.id, unit: outcome.unit, digits: outcome.digits }),
    cell({
      ...shared,
      outcome: pOf(outcome.id),
      // Without an interval there is no test either.
      estimate: limited.lo === null ? null : p,
      reason: exploratory
        ? "exploratory, adjusted over the measures (Benjamini-Hochberg)"
        : "sign-flip test over roles",
      unit: "p",
      digits: exploratory ? 2 : 3,
    }),
  ];
}
