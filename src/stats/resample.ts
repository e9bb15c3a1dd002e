import { at } from "./at.ts";
import { ascending } from "./quantile.ts";
import { seededRandom } from "./random.ts";

/** Statistic values of the resamples in ascending order; `degenerate` counts those where it was undefined. */
export interface Resampled {
  readonly method: "exhaustive" | "sampled";
  readonly values: readonly number[];
  readonly degenerate: number;
}

/** Number (10,000) and seed (1) of sampled resamples. */
export interface ResampleOptions {
  /** Resamples drawn when there are too many to enumerate. */
  readonly draws?: number;
  readonly seed?: number;
}

/** 6^6 = 46,656 ordered resamples are still quick to enumerate; 7^7 are not. */
const EXHAUSTIVE_UP_TO = 6;

const DEFAULT_DRAWS = 10_000;

/**
 * Resamples whole units (roles) with replacement: every ordered resample up to six units, seeded draws above.
 * The order of `units` matters to sampled draws, so hand them over sorted.
 */
export function resample<T>(
  units: readonly T[],
  statistic: (sample: readonly T[]) => number | null,
  { draws = DEFAULT_DRAWS, seed = 1 }: ResampleOptions = {},
): Resampled {
  const exhaustive = units.length <= EXHAUSTIVE_UP_TO;
  const samples = exhaustive ? allSamples(units, units.length) : drawnSamples(units, draws, seed);
  const values: number[] = [];
  let degenerate = 0;
  for (const sample of samples) {
    const value = statistic(sample);
    if (value === null) degenerate += 1;
    else values.push(value);
  }
  return { method: exhaustive ? "exhaustive" : "sampled", values: ascending(values), degenerate };
}

/** Seeded resamples of all units, with replacement. */
export function* drawnSamples<T>(units: readonly T[], draws: number, seed: number): Generator<readonly T[]> {
  const random = seededRandom(seed);
  for (let draw = 0; draw < draws; draw += 1) yield units.map(() => at(units, random.below(units.length)));
}

function* allSamples<T>(units: readonly T[], size: number): Generator<readonly T[]> {
  if (size === 0) yield [];
  else for (const head of allSamples(units, size - 1)) for (const unit of units) yield [...head, unit];
}
