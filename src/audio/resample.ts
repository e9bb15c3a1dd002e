import { InternalError } from "../core/errors.ts";

/** Brings samples of a rate (Hz) to the rate that the resampler was opened for; a pure function of its arguments. */
export type Resample = (samples: Float32Array, rate: number) => Float32Array;

// Zero crossings of that filter on each side, rounded up; what follows the last sample must pass through it.
const CROSSINGS = 48;
// The library's buffers hold a million samples; a longer array would take a path of its own that cuts at odd places.
const BLOCK = 65_536;

/**
 * Opens libsamplerate (sinc, medium quality; WebAssembly, so that every machine computes the same bytes) for one output
 * rate in Hz. Output sample n stands at time n / to, and `ceil(length × to / rate)` samples come out.
 */
export const openResampler = async (to: number): Promise<Resample> => {
  // Two megabytes of program, loaded by those who resample.
  const { create, ConverterType } = (await import("@alexanderolsen/libsamplerate-js")).default;
  // Stop band -121 dB, flat up to 0.9 of the lower Nyquist frequency: below 16 bits of noise, at a third of the cost of "best".
  const source = await create(1, to, to, { converterType: ConverterType.SRC_SINC_MEDIUM_QUALITY });
  return (samples, rate) => {
    if (rate === to || samples.length === 0) return samples;
    // Setting the rate also empties the filter of the clip before.
    source.inputSampleRate = rate;
    source.ratio = to / rate;
    const output = new Float32Array(Math.ceil((samples.length * to) / rate));
    let filled = 0;
    const take = (block: Float32Array): void => {
      const made = source.full(block).subarray(0, output.length - filled);
      output.set(made, filled);
      filled += made.length;
    };
    for (let start = 0; start < samples.length; start += BLOCK) take(samples.slice(start, start + BLOCK));
    take(new Float32Array(Math.ceil(CROSSINGS * Math.max(1, rate / to)) + Math.ceil(rate / to)));
    if (filled < output.length)
      throw new InternalError(
        "RESAMPLE_SHORT",
        `Resampling ${rate} Hz gave ${filled} of ${output.length} samples`,
      );
    return output;
  };
};
