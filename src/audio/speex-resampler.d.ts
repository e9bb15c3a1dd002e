// The package brings no types: these are the functions of speex_resampler.h that we call, with pointers as numbers.
declare module "@echogarden/speex-resampler-wasm/simd" {
  export interface SpeexResampler {
    readonly HEAPF32: Float32Array;
    readonly HEAPU32: Uint32Array;
    readonly _malloc: (bytes: number) => number;
    readonly _speex_resampler_init: (
      ...words: [channels: number, inputRate: number, outputRate: number, quality: number, error: number]
    ) => number;
    readonly _speex_resampler_destroy: (state: number) => void;
    readonly _speex_resampler_reset_mem: (state: number) => number;
    readonly _speex_resampler_skip_zeros: (state: number) => number;
    readonly _speex_resampler_get_input_latency: (state: number) => number;
    readonly _speex_resampler_process_float: (
      ...words: [
        state: number,
        channel: number,
        input: number,
        inputLength: number,
        output: number,
        outputLength: number,
      ]
    ) => number;
  }
  const open: () => Promise<SpeexResampler>;
  export default open;
}
