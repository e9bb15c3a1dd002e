import { type Cell, cell } from "./cell.ts";
import { pairOf, type Pair, pairsOf } from "./difference-cells.ts";
import {
  contaminated,
  contrastOf,
  NO_UNSEEN_ROLES,
  pairedOverRoles,
  rawGapOf,
  type Shown,
} from "./estimates.ts";
import type { ReportInput } from "./input.ts";
import { NLL } from "./outcomes.ts";
import type { Prepared, PreparedSuite } from "./prepare.ts";
import { instanceValues, pairedRoleValues, roleValues } from "./role-values.ts";

export const GAIN = "gain";
export const DID = "did";
export const RETENTION = "retention";
export const RAW_GAP = "raw_gap";
/** Both suites together. */
export const BOTH = "test";

const shared = { table: "generalisation", unit: NLL.unit, digits: NLL.digits } as const;

/** Tuned systems against the base model. */
export const gainPairsOf = (pairs: readonly Pair[], base: string): readonly Pair[] =>
  pairs.filter(({ a, b }) => b === base && a !== base);

/** The comparison that the verdict is about. */
export const headlinePair = ({ comparison }: Pick<ReportInput, "comparison">): Pair =>
  pairOf(comparison.chosen, comparison.base);

/**
 * Gains (base − tuned, so that more is better) on seen and unseen roles, their difference (unseen − seen) with a Welch
 * interval, the share of the gain that unseen roles keep (Fieller), the raw gaps that must not be read as generalisation,
 * and every role's own gain.
 */
export const generalisationCells = (prepared: Prepared): readonly Cell[] => [
  ...gainPairsOf(pairsOf(prepared), prepared.input.comparison.base).flatMap((pair) =>
    contrast(prepared, pair),
  ),
  ...prepared.systems.map(({ id }) => rawGapCell(prepared, id)),
];

interface Side {
  readonly suite: PreparedSuite;
  readonly gains: ReadonlyMap<string, number>;
  readonly common: number;
}

function contrast(prepared: Prepared, pair: Pair): readonly Cell[] {
  const sides = prepared.suites.map((suite) => sideOf(prepared, pair, suite));
  const gainsOn = (id: string): ReadonlyMap<string, number> =>
    sides.find(({ suite }) => suite.id === id)?.gains ?? new Map<string, number>();
  const { did, retention } = contrastOf(gainsOn("test/seen"), gainsOn("test/unseen"));
  const limited = (estimate: Shown): Shown => contaminated(prepared, [pair.a, pair.b], estimate);
  const both = {
    ...shared,
    system: pair.id,
    suite: BOTH,
    roles: total(sides.map(({ gains }) => gains.size)),
    scored: total(sides.map(({ common }) => common)),
    expected: total(sides.map(({ suite }) => suite.expected.length)),
  };
  return [
    ...sides.map((side) => gainCell(prepared, pair, side)),
    cell({ ...both, ...limited(did), outcome: DID }),
    cell({ ...both, ...limited(retention), outcome: RETENTION, unit: "ratio", digits: 2 }),
    ...sides.flatMap((side) => roleCells(pair, side)),
  ];
}

function sideOf(prepared: Prepared, pair: Pair, suite: PreparedSuite): Side {
  const tuned = instanceValues(prepared.result(pair.a, suite.id), NLL);
  const base = instanceValues(prepared.result(pair.b, suite.id), NLL);
  const { differences, common } = pairedRoleValues(base, tuned);
  return { suite, gains: differences, common };
}

function gainCell(prepared: Prepared, pair: Pair, { suite, gains, common }: Side): Cell {
  const options = { sameWeights: prepared.same(pair.a, pair.b), draws: 1 };
  const gain = contaminated(prepared, [pair.a, pair.b], pairedOverRoles(gains, options).shown);
  const empty = suite.expected.length === 0 && suite.id === "test/unseen";
  return cell({
    ...shared,
    ...gain,
    ...(empty ? { reason: NO_UNSEEN_ROLES } : {}),
    system: pair.id,
    suite: suite.id,
    outcome: GAIN,
    roles: gains.size,
    scored: common,
    expected: suite.expected.length,
  });
}

const roleCells = (pair: Pair, { suite, gains }: Side): readonly Cell[] =>
  [...gains].map(([role, gain]) =>
    cell({
      ...shared,
      table: "role",
      system: pair.id,
      suite: suite.id,
      outcome: role,
      estimate: gain,
      roles: 1,
    }),
  );

function rawGapCell(prepared: Prepared, system: string): Cell {
  const levels = (suite: "test/seen" | "test/unseen"): ReadonlyMap<string, number> =>
    roleValues(instanceValues(prepared.result(system, suite), NLL));
  return cell({
    ...shared,
    system,
    suite: BOTH,
    outcome: RAW_GAP,
    estimate: rawGapOf(levels("test/seen"), levels("test/unseen")),
    reason: "descriptive only: seen and unseen roles differ in difficulty",
  });
}

const total = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0);
