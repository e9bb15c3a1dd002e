import { InternalError } from "../core/errors.ts";
import { openSpeex, type Speex, type Stretch } from "./speex.ts";

/** Brings samples of a rate (Hz) to the rate that the resampler was opened for; a pure function of its arguments. */
export type Resample = (samples: Float32Array, rate: number) => Float32Array;

// Of 0 to 10: flat to 0.93 of the lower Nyquist frequency, -104 dB above it, which is below the noise of 16 bits.
const QUALITY = 8;
const BLOCK = 65_536;
const WORD_BYTES = 4;
// A filter of its own for each rate, in a table that is large for odd ones.
const MOST_RATES = 4;

/**
 * Opens Speex's resampler (WebAssembly with SIMD, so that every machine computes the same bytes) for one output rate in Hz.
 * Output sample n stands at time n / to, and `ceil(length × to / rate)` samples come out.
 */
export const openResampler = async (to: number): Promise<Resample> => {
  const speex = await openSpeex();
  const [input, output] = [room(speex), room(speex)];
  // By rate, the one used last at the end.
  const states = new Map<number, number>();
  const stateFor = (rate: number): number => {
    const state = states.get(rate) ?? openState(speex, { from: rate, to, error: input.length });
    states.delete(rate);
    states.set(rate, state);
    const [oldest] = states;
    if (oldest && states.size > MOST_RATES) {
      speex.close(oldest[1]);
      states.delete(oldest[0]);
    }
    return state;
  };
  return (samples, rate) => {
    if (rate === to || samples.length === 0) return samples;
    const state = stateFor(rate);
    speex.reset(state);
    const made = new Float32Array(Math.ceil((samples.length * to) / rate));
    const run: Run = { speex, state, input, output, made };
    // What follows the last sample must pass through the filter.
    const silence = new Float32Array(2 * speex.latency(state) + Math.ceil(rate / to) + 1);
    const filled = feed(run, silence, feed(run, samples, 0));
    if (filled < made.length)
      throw new InternalError(
        "RESAMPLE_SHORT",
        `Resampling ${rate} Hz gave ${filled} of ${made.length} samples`,
      );
    return made;
  };
};

const room = (speex: Speex): Stretch => ({
  samples: speex.allocate(BLOCK * WORD_BYTES),
  length: speex.allocate(WORD_BYTES),
});

function openState(
  speex: Speex,
  { from, to, error }: { readonly from: number; readonly to: number; readonly error: number },
): number {
  const state = speex.open(from, to, { quality: QUALITY, error });
  if (state !== 0) return state;
  throw new InternalError(
    "RESAMPLER_FAILED",
    `The resampler cannot be opened for ${from} Hz: error ${speex.words()[error / WORD_BYTES]}`,
  );
}

interface Run {
  readonly speex: Speex;
  readonly state: number;
  readonly input: Stretch;
  readonly output: Stretch;
  readonly made: Float32Array;
}

// Gives back how many samples are made; what comes beyond the last is dropped.
function feed({ speex, state, input, output, made }: Run, samples: Float32Array, from: number): number {
  let filled = from;
  for (let start = 0; start < samples.length;) {
    const block = samples.subarray(start, start + BLOCK);
    speex.floats().set(block, input.samples / WORD_BYTES);
    speex.words()[input.length / WORD_BYTES] = block.length;
    speex.words()[output.length / WORD_BYTES] = BLOCK;
    speex.process(state, input, output);
    const used = speex.words()[input.length / WORD_BYTES] ?? 0;
    const came = speex.words()[output.length / WORD_BYTES] ?? 0;
    if (used === 0 && came === 0)
      throw new InternalError("RESAMPLER_STUCK", `The resampler took none of ${block.length} samples`);
    const kept = Math.min(came, made.length - filled);
    const begin = output.samples / WORD_BYTES;
    made.set(speex.floats().subarray(begin, begin + kept), filled);
    filled += kept;
    start += used;
  }
  return filled;
}
