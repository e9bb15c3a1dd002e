import { expect, it } from "vitest";
import { data, fmt, riff } from "./build-wav.ts";
import { readWav } from "../../src/audio/index.ts";

// Both tables as CPython's audioop (ulaw2lin, alaw2lin, width 2) has them, folded into one number each.
const fold = (values: readonly number[]): number =>
  values.reduce((hash, value) => (((hash * 31 + value) % 1_000_003) + 1_000_003) % 1_000_003, 7);

it.each([
  ["mu-law", 7, 599_769],
  ["A-law", 6, 50_639],
])("all 256 codes of %s", (_, tag, expected) => {
  const wav = readWav(riff([fmt({ tag, bits: 8 }), data(Uint8Array.from({ length: 256 }, (_code, n) => n))]));
  const values = wav.outcome === "decoded" ? [...(wav.channels[0] ?? [])].map((value) => value * 32_768) : [];
  expect(fold(values)).toBe(expected);
});
