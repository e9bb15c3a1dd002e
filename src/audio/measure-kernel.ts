import { z } from "zod";
import { MEASURE_WASM } from "./measure-wasm.ts";
import { simdExports } from "./simd.ts";

/** What was found in the samples of one clip. */
export interface Found {
  readonly highest: number;
  readonly lowest: number;
  /** Windows below the power. */
  readonly quiet: number;
  /** Samples at full scale. */
  readonly clipped: number;
}

const Exports = z.object({
  memory: z.object({ buffer: z.instanceof(ArrayBuffer) }),
  measure: z.custom<(end: number, window: number, power: number) => void>(
    (value) => typeof value === "function",
  ),
});

const STATE_BYTES = 64;
const LANES = 8;
const VECTOR_BYTES = 16;
// A thousand windows of 20 ms.
const ROUND_BYTES = 640_000;

/**
 * Measures samples (16 bits, little-endian) in windows of `window` samples, a multiple of 8; a window is quiet when the mean of
 * its squares is below `power`. Squares and their sums are whole numbers, so that every machine finds the same.
 */
export class MeasureKernel {
  readonly #measure: z.infer<typeof Exports>["measure"];
  readonly #bytes: Uint8Array;
  readonly #window: number;
  readonly #power: number;

  constructor(window: number, power: number) {
    const { memory, measure } = Exports.parse(simdExports(Buffer.from(MEASURE_WASM, "base64")));
    this.#measure = measure;
    this.#bytes = new Uint8Array(memory.buffer);
    this.#window = window * 2;
    this.#power = power;
  }

  measure(pcm: Uint8Array): Found {
    const each = ROUND_BYTES - (ROUND_BYTES % this.#window);
    this.#bytes.fill(0, 0, STATE_BYTES);
    for (let start = 0; start < pcm.length; start += each) {
      const part = pcm.subarray(start, start + each);
      const end = STATE_BYTES + part.length;
      this.#bytes.set(part, STATE_BYTES);
      this.#bytes.fill(0, end, end + VECTOR_BYTES);
      this.#measure(end, this.#window, this.#power);
    }
    const view = new DataView(this.#bytes.buffer);
    const lanes = (from: number): number[] =>
      Array.from({ length: LANES }, (_, lane) => view.getInt16(from + lane * 2, true));
    return {
      highest: Math.max(...lanes(0)),
      lowest: Math.min(...lanes(VECTOR_BYTES)),
      quiet: view.getInt32(2 * VECTOR_BYTES, true),
      clipped: view.getInt32(2 * VECTOR_BYTES + 4, true),
    };
  }
}
