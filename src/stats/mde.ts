import { welchDf } from "./did.ts";
import { tQuantile } from "./distributions.ts";
import { notEstimated, type NotEstimated } from "./estimate.ts";

/** Spread of a paired difference, as SDs in score units, and how many sessions each role has. RangeError below 0 or below one. */
export interface PairedSpread {
  readonly sdRole: number;
  readonly sdSession: number;
  readonly sessionsPerRole: number;
}

/** Error rates of the planned test: alpha 0.05 and power 0.8 unless told. */
export interface PowerOptions {
  /** Two-sided significance level, 0.05 unless told. */
  readonly alpha?: number;
  readonly power?: number;
}

/** `mde` is the smallest true difference, in score units, found with the asked power. */
export type DetectableEffect =
  | { readonly status: "estimated"; readonly se: number; readonly df: number; readonly mde: number }
  | NotEstimated;

/** Minimum detectable effect of a paired comparison on `roles` roles: (t_{1-a/2} + t_{power}) SE. Golden L1. */
export function mdePaired(spread: PairedSpread, roles: number, options: PowerOptions = {}): DetectableEffect {
  if (roles < 2) return notEstimated("fewer_than_2_clusters");
  return detectable(Math.sqrt(roleVariance(spread) / roles), roles - 1, options);
}

/** As `mdePaired` for gain on unseen roles less gain on seen ones, with Welch df. Golden L1. */
export function mdeDid(
  spread: PairedSpread,
  roles: { readonly seen: number; readonly unseen: number },
  options: PowerOptions = {},
): DetectableEffect {
  if (roles.unseen === 0) return notEstimated("no_unseen_roles");
  if (Math.min(roles.seen, roles.unseen) < 2) return notEstimated("fewer_than_2_per_side");
  const sides = [roles.seen, roles.unseen].map((count) => ({
    se: Math.sqrt(roleVariance(spread) / count),
    df: count - 1,
  }));
  return detectable(Math.hypot(...sides.map((side) => side.se)), welchDf(sides), options);
}

/** Counts behind a mean; judge calls per session are metrics x orders x repeats x references, as used. */
export interface Design {
  readonly roles: number;
  readonly sessionsPerRole: number;
  readonly callsPerSession: number;
}

/** Parts of the variance of a macro mean (squared score units), so that calls are spent where the variance is. */
export function varianceOfMean(
  sd: { readonly role: number; readonly session: number; readonly judge: number },
  { roles, sessionsPerRole, callsPerSession }: Design,
): { readonly role: number; readonly session: number; readonly judge: number; readonly total: number } {
  const role = sd.role ** 2 / roles;
  const session = sd.session ** 2 / (roles * sessionsPerRole);
  const judge = sd.judge ** 2 / (roles * sessionsPerRole * callsPerSession);
  return { role, session, judge, total: role + session + judge };
}

function detectable(se: number, df: number, { alpha = 0.05, power = 0.8 }: PowerOptions): DetectableEffect {
  return { status: "estimated", se, df, mde: (tQuantile(1 - alpha / 2, df) + tQuantile(power, df)) * se };
}

function roleVariance({ sdRole, sdSession, sessionsPerRole }: PairedSpread): number {
  if (!(sdRole >= 0 && sdSession >= 0 && sessionsPerRole >= 1))
    throw new RangeError(
      `SDs ${sdRole}, ${sdSession} and ${sessionsPerRole} sessions a role describe no design`,
    );
  return sdRole ** 2 + sdSession ** 2 / sessionsPerRole;
}
