import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { measureClip, writeClip, type ClipMeasures } from "../../src/audio/index.ts";
import { MeasureKernel } from "../../src/audio/measure-kernel.ts";

const repository = join(import.meta.dirname, "../..");

// The same by the words of the interface, sample by sample.
const plainly = (values: Int16Array, window: number, power: number): ReturnType<MeasureKernel["measure"]> => {
  const windows = Array.from({ length: Math.ceil(values.length / window) }, (_, index) =>
    values.subarray(index * window, (index + 1) * window),
  );
  return {
    highest: values.reduce((most, value) => Math.max(most, value), 0),
    lowest: values.reduce((least, value) => Math.min(least, value), 0),
    quiet: windows.filter((part) => part.reduce((sum, value) => sum + value * value, 0) / part.length < power)
      .length,
    clipped: values.filter((value) => value === 32_767 || value === -32_768).length,
  };
};
const bytesOf = (values: Int16Array): Uint8Array =>
  new Uint8Array(values.buffer, values.byteOffset, values.byteLength);
// Loud and quiet stretches, with full scale among them.
const noise = (samples: number, seed: number): Int16Array => {
  let state = seed;
  return Int16Array.from({ length: samples }, (_, index) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) | 0;
    if (state % 97 === 0) return state % 2 === 0 ? 32_767 : -32_768;
    return (state >> 16) >> (Math.floor(index / 500) % 12);
  });
};

describe("the measures of samples", () => {
  const kernel = new MeasureKernel(320, 10_737.4);

  it.each([0, 1, 2, 3, 7, 8, 9, 15, 319, 320, 321, 327, 328, 640, 5_003, 319_999, 320_000, 320_001, 700_003])(
    "%s of them: what a plain loop finds",
    (samples) => {
      const values = noise(samples, samples + 1);
      expect(kernel.measure(bytesOf(values))).toEqual(plainly(values, 320, 10_737.4));
    },
  );

  it("has nothing left of an earlier clip", () => {
    kernel.measure(bytesOf(noise(5_000, 3)));
    expect(kernel.measure(bytesOf(Int16Array.from([-5, 3, 4])))).toEqual({
      highest: 4,
      lowest: -5,
      quiet: 1,
      clipped: 0,
    });
  });

  it("adds up the loudest that there is", () => {
    const values = Int16Array.from({ length: 640 }, () => -32_768);
    expect(new MeasureKernel(320, 32_768 ** 2).measure(bytesOf(values))).toMatchObject({ quiet: 0 });
    expect(new MeasureKernel(320, 32_768 ** 2 + 1).measure(bytesOf(values))).toMatchObject({
      quiet: 2,
      clipped: 640,
    });
  });

  it("measures a clip wherever it lies in memory", () => {
    const clip = writeClip(Float32Array.from({ length: 1_001 }, (_, index) => Math.sin(index) / 3));
    const measured = measureClip(clip);
    for (const shift of [1, 2, 3]) {
      const room = new Uint8Array(clip.length + shift);
      room.set(clip, shift);
      expect(measureClip(room.subarray(shift))).toEqual<ClipMeasures>(measured);
    }
  });

  it("is assembled from the text that stands beside it", () => {
    const words = [join(repository, "scripts/assemble.js"), "--check"];
    execFileSync(process.execPath, words, { cwd: repository, stdio: "pipe" });
  });
});
