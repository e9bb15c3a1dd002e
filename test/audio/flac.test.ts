import { createHash } from "node:crypto";
import { describe, expect, it } from "vitest";
import { isFlac, openClipReader, openFlac, type ReadyClip, type Rejected } from "../../src/audio/index.ts";
import { data, fmt, riff, s16, sine } from "./build-wav.ts";

const flac = await openFlac();
const tone = Int16Array.from(sine(440, 16_000, { seconds: 1 }));
const file = flac.encode(tone, 16_000);
const asFlac = await openClipReader("flac");
const asWav = await openClipReader();

const decoded = (bytes: Uint8Array): number[] => {
  const read = flac.decode(bytes);
  if (read.outcome === "rejected") throw new Error(read.message);
  return Array.from(read.channels[0] ?? [], (sample) => sample * 32_768);
};
const ready = (clip: ReadyClip | Rejected): ReadyClip => {
  if (clip.outcome === "rejected") throw new Error(clip.message);
  return clip;
};
const flipped = (at: number): Uint8Array =>
  file.map((byte, index) => (index === (at + file.length) % file.length ? byte ^ 4 : byte));

describe("FLAC", () => {
  it("gives back every sample, from silence to full scale", () => {
    expect(decoded(file)).toEqual([...tone]);
    const extremes = Int16Array.of(0, 32_767, -32_768, 1, -1, 0, 0);
    expect(decoded(flac.encode(extremes, 16_000))).toEqual([...extremes]);
    expect(decoded(flac.encode(new Int16Array(10_000), 16_000))).toEqual([...new Int16Array(10_000)]);
  });

  it("writes a header with rate, channels, bits, number of samples and their MD5", () => {
    const view = Buffer.from(file);
    expect(view.subarray(0, 4).toString()).toBe("fLaC");
    // 20 bits of rate, 3 of channels less one, 5 of bits less one, 36 of samples.
    expect(view.readBigUInt64BE(18)).toBe((16_000n << 44n) | (0n << 41n) | (15n << 36n) | 16_000n);
    const md5 = createHash("md5").update(new Uint8Array(tone.buffer)).digest("hex");
    expect(view.subarray(26, 42).toString("hex")).toBe(md5);
    expect(file.length).toBeLessThan(tone.byteLength * 0.8);
  });

  it("is the same bytes every time, whatever was coded before", () => {
    flac.encode(new Int16Array(777).fill(5), 8_000);
    expect(flac.encode(tone, 16_000)).toEqual(file);
  });

  it.each([
    ["a flipped bit in the samples", flipped(-60), "broken_flac"],
    ["another digest", flipped(30), "broken_flac"],
    ["a cut file", file.subarray(0, file.length - 700), "truncated"],
    ["only a header", file.subarray(0, 42), "truncated"],
    ["half a header", file.subarray(0, 20), "broken_flac"],
    ["a word and rubbish", Buffer.from(`fLaC${"x".repeat(300)}`), "broken_flac"],
  ])("refuses %s", (_, bytes, reason) => {
    expect(flac.decode(bytes)).toMatchObject({ outcome: "rejected", reason });
    expect(asWav(bytes)).toMatchObject({ outcome: "rejected", reason });
  });
});

describe("openClipReader with FLAC", () => {
  const wav = riff([fmt(), data(s16([...tone]))]);

  it("stores FLAC with the samples and measures of the WAV form", () => {
    const [kept, plain] = [ready(asFlac(wav)), ready(asWav(wav))];
    expect(isFlac(kept.bytes)).toBe(true);
    expect(decoded(kept.bytes)).toEqual([...tone]);
    expect(kept.pcmSha256).toBe(plain.pcmSha256);
    expect(kept.measures).toEqual(plain.measures);
    expect(kept.sourceSha256).toBe(plain.sourceSha256);
  });

  it("reads FLAC sources, resampled like any other", () => {
    expect(Buffer.from(ready(asWav(file)).bytes)).toEqual(Buffer.from(wav));
    const half = flac.encode(Int16Array.from(sine(440, 24_000, { seconds: 0.5 })), 24_000);
    expect(ready(asWav(half))).toMatchObject({
      source: { encoding: "pcm", bits: 16, channels: 1, rate: 24_000 },
      measures: { seconds: 0.5 },
    });
  });
});
