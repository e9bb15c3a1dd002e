/** A seeded stream: the same seed gives the same numbers on every machine and Node version. */
export interface RandomSource {
  /** Uniform on the 2^32 unsigned integers. */
  uint32(): number;
  /** Uniform integer in [0, n). */
  below(n: number): number;
}

/** xoshiro128** (Blackman and Vigna 2018), its state filled from an integer seed by SplitMix32. */
export function seededRandom(seed: number): RandomSource {
  if (!Number.isInteger(seed)) throw new RangeError(`A seed must be an integer, got ${seed}`);
  const nextSeed = splitMix(seed | 0);
  let [a, b, c, d] = [nextSeed(), nextSeed(), nextSeed(), nextSeed()];
  const uint32 = (): number => {
    const result = Math.imul(rotateLeft(Math.imul(b, 5), 7), 9) >>> 0;
    const shifted = b << 9;
    c ^= a;
    d ^= b;
    b ^= c;
    a ^= d;
    c ^= shifted;
    d = rotateLeft(d, 11);
    return result;
  };
  // 53 random bits: the bias of scaling them to a list index is below 2^-40 for any list that fits in memory.
  const unit = (): number => ((uint32() >>> 5) * 2 ** 26 + (uint32() >>> 6)) / 2 ** 53;
  return { uint32, below: (n) => Math.floor(unit() * n) };
}

function splitMix(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x9e3779b9) | 0;
    let mixed = Math.imul(state ^ (state >>> 16), 0x21f0aaad);
    mixed = Math.imul(mixed ^ (mixed >>> 15), 0x735a2d97);
    return mixed ^ (mixed >>> 15);
  };
}

const rotateLeft = (value: number, bits: number): number => (value << bits) | (value >>> (32 - bits));
