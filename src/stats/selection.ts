import { normalCdf, normalDensity } from "./distributions.ts";
import { DEFAULT_CONFIDENCE, type Reason } from "./estimate.ts";

import { summarizeClusters } from "./cluster.ts";
import { compareText, groupByCluster, type Observation } from "./observations.ts";
import { pairedDifference, type PairedDifference } from "./paired.ts";
import { sum } from "./sum.ts";

/**
 * E_K, the expected maximum of K standard normals: K times the integral of x phi(x) Phi(x)^(K - 1), by Simpson's rule.
 * RangeError unless K is an integer of at least 1.
 */
export function expectedMaximum(k: number): number {
  if (!Number.isInteger(k) || k < 1) throw new RangeError(`A count of at least 1 is needed, got ${k}`);
  const [limit, steps] = [12, 4800];
  const width = (2 * limit) / steps;
  const terms = Array.from({ length: steps + 1 }, (_, index) => {
    const x = -limit + index * width;
    const edge = index === 0 || index === steps ? 1 : 2;
    return (index % 2 === 1 ? 4 : edge) * x * normalDensity(x) * normalCdf(x) ** (k - 1);
  });
  return (k * width * sum(terms)) / 3;
}

/** How far the best of K equal checkpoints looks too good: E_K x se x sqrt(1 - rho), in score units. */
export function selectionOptimism(
  k: number,
  { se, rho }: { readonly se: number; readonly rho: number },
): number {
  if (!(rho >= -1 && rho <= 1 && se >= 0))
    throw new RangeError(`No optimism for a correlation of ${rho} and SE ${se}`);
  return expectedMaximum(k) * se * Math.sqrt(1 - rho);
}

/** A checkpoint with its scores on the selection set, never on the test set. */
export interface Candidate {
  readonly id: string;
  /** Training step; among equals the earliest wins. */
  readonly step: number;
  /** Scores on the selection set. */
  readonly observations: readonly Observation[];
}

/** The chosen and the best candidate with all comparisons, or why nothing could be chosen. */
export type Selection =
  | {
      readonly status: "selected";
      readonly id: string;
      readonly best: string;
      /** Candidate minus best, by step. */
      readonly comparisons: readonly {
        readonly id: string;
        readonly step: number;
        readonly against: PairedDifference;
      }[];
    }
  | { readonly status: "undefined"; readonly reason: Reason };

/**
 * One-standard-error rule: the earliest candidate whose paired interval against the best macro mean reaches 0.
 * A candidate without an interval cannot win. Undefined when nothing is scored.
 */
export function oneStandardErrorRule(
  candidates: readonly Candidate[],
  confidence: number = DEFAULT_CONFIDENCE,
): Selection {
  const best = bestCandidate(candidates);
  if (best === null) return { status: "undefined", reason: "no_data" };
  const comparisons = byStep(candidates).map(({ id, step, observations }) => ({
    id,
    step,
    against: pairedDifference(observations, best.observations, { confidence }),
  }));
  const within = comparisons.find(({ id, against }) => id === best.id || reachesZero(against));
  return { status: "selected", id: within?.id ?? best.id, best: best.id, comparisons };
}

function bestCandidate(candidates: readonly Candidate[]): Candidate | null {
  let best: { candidate: Candidate; score: number } | null = null;
  for (const candidate of byStep(candidates)) {
    const score = summarizeClusters(groupByCluster(candidate.observations)).macro.estimate;
    if (score !== null && (best === null || score > best.score)) best = { candidate, score };
  }
  return best?.candidate ?? null;
}

const byStep = (candidates: readonly Candidate[]): readonly Candidate[] =>
  candidates.toSorted((a, b) => a.step - b.step || compareText(a.id, b.id));

function reachesZero({ difference }: PairedDifference): boolean {
  return difference.status === "estimated" && difference.interval[0] <= 0 && difference.interval[1] >= 0;
}
