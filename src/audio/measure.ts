import { MeasureKernel } from "./measure-kernel.ts";
import { CLIP_RATE, clipPcm } from "./write-wav.ts";

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

let kernel: MeasureKernel | undefined;

/** Measures of a clip in the stored form (mono, 16 bits, 16 kHz, 44-byte header). */
export const measureClip = (clip: Uint8Array): ClipMeasures => {
  const samples = Math.floor(clipPcm(clip).length / 2);
  kernel ??= new MeasureKernel(WINDOW, QUIET_POWER);
  const { highest, lowest, quiet, clipped } = kernel.measure(clipPcm(clip).subarray(0, samples * 2));
  return {
    seconds: samples / CLIP_RATE,
    samples,
    peak: Math.max(highest, -lowest) / 32_768,
    clippedShare: samples === 0 ? 0 : clipped / samples,
    silenceShare: samples === 0 ? 0 : quiet / Math.ceil(samples / WINDOW),
  };
};
