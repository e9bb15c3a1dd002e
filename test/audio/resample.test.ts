import { describe, expect, it } from "vitest";
import { resampler } from "../../src/audio/index.ts";

const tone = (hertz: number, rate: number, seconds: number): Float32Array =>
  Float32Array.from({ length: Math.round(rate * seconds) }, (_, n) =>
    Math.sin((2 * Math.PI * hertz * n) / rate),
  );
const decibels = (power: number): number => 10 * Math.log10(power);
// Away from the ends, where the silence around the clip is part of the sum.
const middle = (samples: Float32Array): Float32Array => samples.subarray(2_000, samples.length - 2_000);
const power = (samples: Float32Array): number =>
  samples.reduce((sum, sample) => sum + sample * sample, 0) / samples.length;

const RATES = [8_000, 11_025, 22_050, 24_000, 32_000, 44_100, 48_000];

describe("resampler to 16 kHz", () => {
  it.each(RATES)("keeps a tone of 1 kHz from %i Hz to better than 80 dB", (rate) => {
    const output = resampler(rate, 16_000)(tone(1_000, rate, 1));
    const error = output.map((sample, n) => sample - Math.sin((2 * Math.PI * 1_000 * n) / 16_000));
    expect(output.length).toBe(16_000);
    expect(decibels(power(middle(tone(1_000, 16_000, 1))) / power(middle(error)))).toBeGreaterThan(80);
  });

  it.each(RATES.filter((rate) => rate > 16_000))("keeps the level at 7 kHz from %i Hz", (rate) => {
    expect(decibels(2 * power(middle(resampler(rate, 16_000)(tone(7_000, rate, 1)))))).toBeCloseTo(0, 1);
  });

  it.each(RATES.filter((rate) => rate > 16_000))("lets nothing above 8 kHz fold back from %i Hz", (rate) => {
    for (const hertz of [8_100, 9_000, Math.floor(rate / 2) - 100].filter((one) => one < rate / 2)) {
      const output = resampler(rate, 16_000)(tone(hertz, rate, 1));
      expect(decibels(2 * power(middle(output))), `${hertz} Hz`).toBeLessThan(-78);
    }
  });

  it("adds no image when going up from 8 kHz", () => {
    const output = resampler(8_000, 16_000)(tone(3_000, 8_000, 1));
    const error = output.map((sample, n) => sample - Math.sin((2 * Math.PI * 3_000 * n) / 16_000));
    expect(decibels(power(middle(error)))).toBeLessThan(-75);
  });

  it("keeps a constant constant and shifts nothing in time", () => {
    const constant = resampler(44_100, 16_000)(new Float32Array(44_100).fill(0.5));
    expect(Math.max(...middle(constant).map((sample) => Math.abs(sample - 0.5)))).toBeLessThan(1e-4);
    const impulse = new Float32Array(4_800);
    impulse[2_400] = 1;
    const output = resampler(48_000, 16_000)(impulse);
    expect(output.indexOf(Math.max(...output))).toBe(800);
  });

  it("gives back the same samples for the same rate, and copes with less than a filter's length", () => {
    const samples = Float32Array.of(0.1, 0.2);
    expect(resampler(16_000, 16_000)(samples)).toBe(samples);
    expect(resampler(24_000, 16_000)(Float32Array.of(1))).toHaveLength(1);
    expect(resampler(24_000, 16_000)(new Float32Array())).toHaveLength(0);
  });
});
