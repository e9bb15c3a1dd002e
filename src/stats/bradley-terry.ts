import { at } from "./at.ts";
import { notEstimated, type NotEstimated } from "./estimate.ts";
import { solveLinear } from "./linear-solve.ts";
import { mean, sum } from "./sum.ts";
import { connectedComponents, extremes, stronglyConnected, type WinMatrix } from "./win-graph.ts";

/** Strengths of one fit: natural logs centred on 0, the same on the Elo scale centred on 1000, best system first. */
export interface Strengths {
  readonly logStrengths: readonly number[];
  readonly elo: readonly number[];
  readonly ranking: readonly number[];
}

/** `regularized` is a ridge fit where no maximum exists; `disconnected` has no common scale at all. */
export type BradleyTerry =
  | ({ readonly status: "estimated" } & Strengths)
  | ({ readonly status: "regularized"; readonly reason: string; readonly ridge: number } & Strengths)
  | { readonly status: "disconnected"; readonly components: readonly (readonly number[])[] }
  | NotEstimated;

/**
 * Bradley-Terry strengths from win counts. Not strongly connected (Ford 1957) falls back to a fit with penalty
 * ridge/2 x sum of squared log-strengths, flagged. RangeError for a ragged or negative matrix. Golden K1, K3, K5.
 */
export function bradleyTerry(
  wins: WinMatrix,
  { ridge = 0.1 }: { readonly ridge?: number } = {},
): BradleyTerry {
  checkMatrix(wins);
  if (wins.length < 2) return notEstimated("no_data");
  const components = connectedComponents(wins);
  if (components.length > 1) return { status: "disconnected", components };
  if (stronglyConnected(wins)) return { status: "estimated", ...fit(wins, 0) };
  return { status: "regularized", reason: weakness(wins), ridge, ...fit(wins, ridge) };
}

/** P(first beats second) for two log-strengths. */
export function winProbability(first: number, second: number): number {
  return 1 / (1 + Math.exp(second - first));
}

function fit(wins: WinMatrix, ridge: number): Strengths {
  let theta: readonly number[] = wins.map(() => 0);
  for (let iteration = 0; iteration < 200; iteration += 1) {
    const step = newtonStep(wins, theta, ridge);
    theta = climb(wins, { theta, step, ridge });
    if (Math.max(...step.map(Math.abs)) < 1e-12) break;
  }
  const centre = mean(theta);
  const logStrengths = theta.map((value) => value - centre);
  const systems = [...wins.keys()];
  return {
    logStrengths,
    elo: logStrengths.map((value) => 1000 + (400 / Math.LN10) * value),
    ranking: systems.toSorted((a, b) => at(logStrengths, b) - at(logStrengths, a)),
  };
}

/** Strengths are free up to a constant; adding 1/n to every cell of the Hessian fixes their mean. */
function newtonStep(wins: WinMatrix, theta: readonly number[], ridge: number): readonly number[] {
  const systems = [...wins.keys()];
  const gradient = systems.map((i) => {
    const surplus = systems.map((j) => cell(wins, i, j) - games(wins, i, j) * probability(theta, i, j));
    return sum(surplus) - ridge * at(theta, i);
  });
  const curvature = (i: number, j: number): number =>
    games(wins, i, j) * probability(theta, i, j) * probability(theta, j, i);
  const hessian = systems.map((i) =>
    systems.map((j) => {
      const own =
        i === j
          ? sum(systems.map((other) => (other === i ? 0 : curvature(i, other)))) + ridge
          : -curvature(i, j);
      return own + 1 / systems.length;
    }),
  );
  return solveLinear(hessian, gradient);
}

/** Halves the step until the likelihood stops falling: full Newton steps overshoot on lopsided counts. */
function climb(
  wins: WinMatrix,
  { theta, step, ridge }: { theta: readonly number[]; step: readonly number[]; ridge: number },
): readonly number[] {
  const before = objective(wins, theta, ridge);
  for (let scale = 1; scale > 1e-6; scale /= 2) {
    const next = theta.map((value, index) => value + scale * at(step, index));
    if (objective(wins, next, ridge) >= before - 1e-12 * Math.abs(before)) return next;
  }
  return theta;
}

function objective(wins: WinMatrix, theta: readonly number[], ridge: number): number {
  const likelihood = wins.flatMap((row, i) =>
    row.map((count, j) => (count === 0 ? 0 : -count * Math.log1p(Math.exp(at(theta, j) - at(theta, i))))),
  );
  return sum(likelihood) - (ridge / 2) * sum(theta.map((value) => value * value));
}

function weakness(wins: WinMatrix): string {
  const { undefeated, winless } = extremes(wins);
  const names = [
    ...undefeated.map((i) => `system ${i} undefeated`),
    ...winless.map((i) => `system ${i} winless`),
  ];
  return [names.join(", "), "not strongly connected"].filter((part) => part !== "").join(": ");
}

function checkMatrix(wins: WinMatrix): void {
  const square = wins.every((row) => row.length === wins.length);
  const counts = wins.every((row, i) =>
    row.every((count, j) => Number.isFinite(count) && count >= 0 && (i !== j || count === 0)),
  );
  if (!square || !counts)
    throw new RangeError("Wins must be a square matrix of counts, not negative, with a diagonal of 0");
}

const cell = (wins: WinMatrix, i: number, j: number): number => at(at(wins, i), j);
const games = (wins: WinMatrix, i: number, j: number): number => cell(wins, i, j) + cell(wins, j, i);
const probability = (theta: readonly number[], i: number, j: number): number =>
  winProbability(at(theta, i), at(theta, j));
