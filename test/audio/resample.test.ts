import { describe, expect, it } from "vitest";
import { openResampler } from "../../src/audio/index.ts";

const to16k = await openResampler(16_000);
const to8k = await openResampler(8_000);

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
    const output = to16k(tone(1_000, rate, 1), rate);
    const error = output.map((sample, n) => sample - Math.sin((2 * Math.PI * 1_000 * n) / 16_000));
    expect(output.length).toBe(16_000);
    expect(decibels(power(middle(tone(1_000, 16_000, 1))) / power(middle(error)))).toBeGreaterThan(80);
  });

  it.each(RATES.filter((rate) => rate > 16_000))("keeps the levels of speech from %i Hz", (rate) => {
    const level = (hertz: number): number => decibels(2 * power(middle(to16k(tone(hertz, rate, 1), rate))));
    for (const hertz of [100, 3_000, 6_000, 7_000]) expect(level(hertz), `${hertz} Hz`).toBeCloseTo(0, 2);
    expect(level(7_500)).toBeGreaterThan(-0.3);
    expect(level(7_500)).toBeLessThan(0.05);
  });

  it.each(RATES.filter((rate) => rate > 16_000))("lets nothing above 8 kHz fold back from %i Hz", (rate) => {
    for (const hertz of [8_100, 9_000, Math.floor(rate / 2) - 100].filter((one) => one < rate / 2)) {
      const output = to16k(tone(hertz, rate, 1), rate);
      expect(decibels(2 * power(middle(output))), `${hertz} Hz`).toBeLessThan(-100);
    }
  });

  it("adds no image when going up from 8 kHz", () => {
    const output = to16k(tone(3_000, 8_000, 1), 8_000);
    const error = output.map((sample, n) => sample - Math.sin((2 * Math.PI * 3_000 * n) / 16_000));
    expect(decibels(power(middle(error)))).toBeLessThan(-75);
  });

  it("keeps a constant constant and shifts nothing in time", () => {
    const constant = to16k(new Float32Array(44_100).fill(0.5), 44_100);
    expect(Math.max(...middle(constant).map((sample) => Math.abs(sample - 0.5)))).toBeLessThan(1e-4);
    const impulse = new Float32Array(4_800);
    impulse[2_400] = 1;
    const output = to16k(impulse, 48_000);
    expect(output.indexOf(Math.max(...output))).toBe(800);
  });

  it("gives back the same samples for the same rate, and copes with less than a filter's length", () => {
    const samples = Float32Array.of(0.1, 0.2);
    expect(to16k(samples, 16_000)).toBe(samples);
    expect(to16k(Float32Array.of(1), 24_000)).toHaveLength(1);
    expect(to16k(new Float32Array(), 24_000)).toHaveLength(0);
  });

  it("keeps the last samples of a clip: a tone stays a tone up to its end", () => {
    const output = to16k(tone(1_000, 24_000, 0.5), 24_000);
    const end = output.subarray(output.length - 400, output.length - 48);
    expect(output).toHaveLength(8_000);
    expect(decibels(2 * power(end))).toBeCloseTo(0, 1);
  });

  it("remembers nothing of the clip before, at this rate or another", () => {
    const clip = tone(440, 22_050, 0.3);
    const first = to16k(clip, 22_050);
    to16k(new Float32Array(5_000).fill(1), 22_050);
    to16k(new Float32Array(5_000).fill(-1), 48_000);
    expect(to16k(clip, 22_050)).toEqual(first);
  });

  it("takes part of a larger array, several blocks, and every rate that a header may have", () => {
    const long = tone(500, 48_000, 5);
    const part = long.subarray(7, long.length - 13);
    expect(to16k(part, 48_000)).toEqual(to16k(part.slice(), 48_000));
    const error = to16k(long, 48_000).map((sample, n) => sample - Math.sin((2 * Math.PI * 500 * n) / 16_000));
    expect(decibels(2 * power(middle(error)))).toBeLessThan(-80);
    for (const rate of [4_000, 11_025, 44_101, 192_000, 384_000])
      expect(to16k(tone(300, rate, 0.1), rate), String(rate)).toHaveLength(
        Math.ceil((Math.round(rate * 0.1) * 16_000) / rate),
      );
    expect(to8k(tone(300, 16_000, 0.1), 16_000)).toHaveLength(800);
  });
});
