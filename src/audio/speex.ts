import { requireSimd } from "./simd.ts";

/** Speex's resampler; states and places in its memory are numbers, as in speex_resampler.h. */
export interface Speex {
  /** Its memory. It may move: look at it again after each call. */
  floats(): Float32Array;
  words(): Uint32Array;
  allocate(bytes: number): number;
  /** A filter with its delay taken from the beginning; 0 when there is none, with the reason at `error`. */
  open(
    inputRate: number,
    outputRate: number,
    how: { readonly quality: number; readonly error: number },
  ): number;
  /** Forgets what it was fed. */
  reset(state: number): void;
  /** In samples. */
  latency(state: number): number;
  /** The lengths hold samples there and room for samples; afterwards samples used and samples made. */
  process(state: number, input: Stretch, output: Stretch): void;
  close(state: number): void;
}

/** Places of samples and of their number. */
export interface Stretch {
  readonly samples: number;
  readonly length: number;
}

/** Half a megabyte of program and memory, loaded by those who resample. PreflightError `NO_SIMD`. */
export const openSpeex = async (): Promise<Speex> => {
  requireSimd();
  const library = await (await import("@echogarden/speex-resampler-wasm/simd")).default();
  const {
    _malloc: allocate,
    _speex_resampler_init: init,
    _speex_resampler_reset_mem: resetMemory,
    _speex_resampler_skip_zeros: skipZeros,
    _speex_resampler_get_input_latency: latency,
    _speex_resampler_process_float: process,
    _speex_resampler_destroy: close,
  } = library;
  return {
    floats: () => library.HEAPF32,
    words: () => library.HEAPU32,
    allocate,
    open: (inputRate, outputRate, { quality, error }) => init(1, inputRate, outputRate, quality, error),
    reset: (state) => {
      resetMemory(state);
      skipZeros(state);
    },
    latency,
    process: (state, input, output) =>
      process(state, 0, input.samples, input.length, output.samples, output.length),
    close,
  };
};
