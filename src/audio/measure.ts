import { CLIP_RATE, clipSamples } from "./write-wav.ts";

export interface ClipMeasures {
  /** From the samples that are there, never from a header. */
  readonly seconds: number;
  /** Samples at 16 kHz. */
  readonly samples: number;
  /** Greatest absolute sample, 0 to 1; 0 is digital silence. */
  readonly peak: number;
  /** Share of samples at full scale, 0 to 1. */
  readonly clippedShare: number;
  /** Share of 20 ms windows below -50 dBFS, 0 to 1. */
  readonly silenceShare: number;
}

const WINDOW = CLIP_RATE / 50;
const QUIET_POWER = 32_768 ** 2 * 10 ** (-50 / 10);

/** Measures of a clip in the stored form (mono, 16 bits, 16 kHz, 44-byte header). */
export const measureClip = (clip: Uint8Array): ClipMeasures => {
  const values = clipSamples(clip);
  const samples = values.length;
  let loudest = 0;
  let quiet = 0;
  for (let start = 0; start < samples; start += WINDOW) {
    const end = Math.min(samples, start + WINDOW);
    // Squares need no look at the sign, which in speech nobody can foretell; their halves add up exactly as whole numbers.
    let upper = 0;
    let lower = 0;
    for (let index = start; index < end; index++) {
      const value = values[index] ?? 0;
      const square = Math.imul(value, value);
      upper += square >>> 16;
      lower += square & 0xffff;
      if (square > loudest) loudest = square;
    }
    if ((upper * 65_536 + lower) / (end - start) < QUIET_POWER) quiet++;
  }
  const clipped = loudest >= 32_767 ** 2 ? clippedIn(values) : 0;
  return {
    seconds: samples / CLIP_RATE,
    samples,
    peak: Math.sqrt(loudest) / 32_768,
    clippedShare: samples === 0 ? 0 : clipped / samples,
    silenceShare: samples === 0 ? 0 : quiet / Math.ceil(samples / WINDOW),
  };
};

function clippedIn(values: Int16Array): number {
  return values.reduce((count, value) => count + (value === 32_767 || value === -32_768 ? 1 : 0), 0);
}
