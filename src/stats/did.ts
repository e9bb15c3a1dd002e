import {
  DEFAULT_CONFIDENCE,
  estimateMean,
  estimated,
  type Estimate,
  type Estimated,
  type Reason,
} from "./estimate.ts";
import { fiellerRatio, type FiellerRatio } from "./fieller.ts";
import { tTest } from "./paired.ts";
import { labelExchangeTest, type PermutationOptions, type PermutationTest } from "./permutation.ts";
import { standardErrorOfMean } from "./spread.ts";
import { mean } from "./sum.ts";

/** Gain of one role, tuned minus base over the same instances; a `ClusterDifference` is one. */
export interface RoleGain {
  readonly cluster: string;
  readonly difference: number;
}

/** Role gains by whether the tuned system saw the role in training. */
export interface RoleGains {
  readonly seen: readonly RoleGain[];
  readonly unseen: readonly RoleGain[];
}

/** Difference in differences: what tuning gives on unseen roles less what it gives on seen ones. */
export type DifferenceInDifferences =
  | {
      readonly status: "estimated";
      readonly gainSeen: Estimated;
      readonly gainUnseen: Estimated;
      /** gainUnseen - gainSeen with the Welch standard error and degrees of freedom. */
      readonly gamma: Estimated;
      readonly t: number | null;
      readonly p: number | null;
      readonly permutation: PermutationTest;
      /** gainUnseen/gainSeen with a Fieller interval on the Welch degrees of freedom. */
      readonly retention: FiellerRatio;
      /** False when a side has too few roles for a claim; the numbers are then descriptive. */
      readonly verdictAllowed: boolean;
    }
  | {
      readonly status: "undefined";
      readonly reason: Reason;
      readonly gainSeen: Estimate;
      readonly gainUnseen: Estimate;
      /** Roles on both sides: their presence means that "unseen" is not true of them. */
      readonly overlap: readonly string[];
      readonly verdictAllowed: false;
    };

/** Label exchange draws, confidence (0.95) and the size that a verdict needs (8 roles a side). */
export interface DidOptions extends PermutationOptions {
  readonly confidence?: number;
  /** Roles that each side needs before a verdict may be drawn. */
  readonly minimumRoles?: number;
}

/** Gains by role to seen gain, unseen gain, their difference and retention. Refused without unseen roles. Golden G1, G2. */
export function differenceInDifferences(gains: RoleGains, options: DidOptions = {}): DifferenceInDifferences {
  const { confidence = DEFAULT_CONFIDENCE, minimumRoles = 8, ...permutation } = options;
  const seen = gains.seen.map((role) => role.difference);
  const unseen = gains.unseen.map((role) => role.difference);
  const gainSeen = estimateMean(seen, confidence);
  const gainUnseen = estimateMean(unseen, confidence);
  const overlap = sharedRoles(gains);
  if (overlap.length > 0 || gainSeen.status === "undefined" || gainUnseen.status === "undefined") {
    const reason = refusal(gains, overlap);
    return { status: "undefined", reason, gainSeen, gainUnseen, overlap, verdictAllowed: false };
  }
  const gamma = estimated(welch(seen, unseen), confidence);
  return {
    status: "estimated",
    gainSeen,
    gainUnseen,
    gamma,
    ...tTest(gamma),
    permutation: labelExchangeTest(unseen, seen, permutation),
    retention: fiellerRatio(gainUnseen, gainSeen, { df: gamma.df, confidence }),
    verdictAllowed: Math.min(seen.length, unseen.length) >= minimumRoles,
  };
}

/** Mean over unseen roles less mean over seen roles of one system's role means: mixes role difficulty in, so only descriptive. */
export function rawGap(seen: readonly number[], unseen: readonly number[]): number | null {
  return seen.length === 0 || unseen.length === 0 ? null : mean(unseen) - mean(seen);
}

/** Welch-Satterthwaite degrees of freedom of independent components, each an SE with its own df. */
export function welchDf(components: readonly { readonly se: number; readonly df: number }[]): number {
  const squares = components.map(({ se }) => se ** 2);
  const total = squares.reduce((a, b) => a + b, 0);
  // Nothing varies, so the interval has width 0 whatever the df: the cautious df is reported.
  if (total === 0) return Math.min(...components.map(({ df }) => df));
  const weighted = components.reduce((rest, { se, df }) => rest + (se ** 2 / total) ** 2 / df, 0);
  return 1 / weighted;
}

function welch(
  seen: readonly number[],
  unseen: readonly number[],
): Pick<Estimated, "estimate" | "se" | "df" | "clusters"> {
  const seSeen = standardErrorOfMean(seen);
  const seUnseen = standardErrorOfMean(unseen);
  return {
    estimate: mean(unseen) - mean(seen),
    se: Math.hypot(seSeen, seUnseen),
    df: welchDf([
      { se: seSeen, df: seen.length - 1 },
      { se: seUnseen, df: unseen.length - 1 },
    ]),
    clusters: seen.length + unseen.length,
  };
}

function sharedRoles({ seen, unseen }: RoleGains): readonly string[] {
  const known = new Set(seen.map((role) => role.cluster));
  return unseen.flatMap((role) => (known.has(role.cluster) ? [role.cluster] : [])).toSorted();
}

function refusal({ seen, unseen }: RoleGains, overlap: readonly string[]): Reason {
  if (unseen.length === 0) return "no_unseen_roles";
  if (seen.length === 0) return "no_seen_roles";
  return overlap.length > 0 ? "roles_on_both_sides" : "fewer_than_2_per_side";
}
