/** Converts one rate to another; a pure function of its samples. */
export type Resample = (samples: Float32Array) => Float32Array;

// Kaiser-windowed sinc: 40 zero crossings a side and a stop band at -80 dB that begins at the lower Nyquist
// frequency leave everything below 0.87 of it untouched (7 kHz at 16 kHz).
const CROSSINGS = 40;
const STOP_BAND_DB = 80;
const BETA = 0.1102 * (STOP_BAND_DB - 8.7);
const TRANSITION = (STOP_BAND_DB - 8) / (14.36 * CROSSINGS);
// sin() may differ in the last bit between JavaScript engines; taps on this grid give the same bytes everywhere.
const GRID = 2 ** 30;

/**
 * A polyphase low-pass resampler between two integer rates in Hz: output sample n stands at time n / to, and
 * `ceil(length × to / from)` samples come out. Everything above the lower Nyquist frequency is 80 dB down.
 * Filters are made on first use, so keep the function for further clips of the same rate.
 */
export const resampler = (from: number, to: number): Resample => {
  if (from === to) return (samples) => samples;
  const divisor = greatestCommonDivisor(from, to);
  const up = to / divisor;
  const down = from / divisor;
  const phases = new Map<number, Float64Array>();
  const reach = Math.ceil(CROSSINGS * Math.max(1, from / to));
  const phase = (index: number): Float64Array => {
    const known = phases.get(index);
    if (known) return known;
    const made = taps(index / up, reach, Math.min(1, to / from));
    phases.set(index, made);
    return made;
  };
  return (samples) => {
    const output = new Float32Array(Math.ceil((samples.length * up) / down));
    for (let n = 0; n < output.length; n++) {
      const position = n * down;
      const filter = phase(position % up);
      output[n] = convolve(samples, Math.floor(position / up) - reach + 1, filter);
    }
    return output;
  };
};

// Samples before the first and after the last are silence.
function convolve(samples: Float32Array, start: number, filter: Float64Array): number {
  const first = Math.max(0, -start);
  const last = Math.min(filter.length, samples.length - start);
  let sum = 0;
  for (let tap = first; tap < last; tap++) sum += (samples[start + tap] ?? 0) * (filter[tap] ?? 0);
  return sum;
}

/** Taps for input samples -reach+1 … reach around a point that lies `fraction` of a sample after sample 0. */
function taps(fraction: number, reach: number, ratio: number): Float64Array {
  // The centre of the transition lies half its width below Nyquist, so that the stop band starts there.
  const cutoff = ratio * (1 - TRANSITION / 2);
  const values = Float64Array.from({ length: 2 * reach }, (_, index) => {
    const distance = index - reach + 1 - fraction;
    return cutoff * sinc(cutoff * distance) * kaiser(distance / reach);
  });
  const gain = values.reduce((sum, value) => sum + value, 0);
  return values.map((value) => Math.round((value / gain) * GRID) / GRID);
}

function sinc(x: number): number {
  return x === 0 ? 1 : Math.sin(Math.PI * x) / (Math.PI * x);
}

function kaiser(x: number): number {
  return Math.abs(x) >= 1 ? 0 : bessel(BETA * Math.sqrt(1 - x * x)) / bessel(BETA);
}

/** Modified Bessel function of the first kind, order 0, by its power series. */
function bessel(x: number): number {
  let term = 1;
  let sum = 1;
  for (let k = 1; term > sum * 1e-17; k++) {
    term *= (x / (2 * k)) ** 2;
    sum += term;
  }
  return sum;
}

function greatestCommonDivisor(a: number, b: number): number {
  return b === 0 ? a : greatestCommonDivisor(b, a % b);
}
