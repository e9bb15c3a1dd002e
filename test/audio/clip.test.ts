import { describe, expect, it } from "vitest";
import { isClip, measureClip, openClipReader, type ReadyClip } from "../../src/audio/index.ts";
import { data, f32, fmt, riff, s16, s24, sine } from "./build-wav.ts";

const readClip = await openClipReader();
const read = (bytes: Uint8Array): ReadyClip => {
  const clip = readClip(bytes);
  if (clip.outcome === "rejected") throw new Error(clip.message);
  return clip;
};
const samplesOf = (clip: ReadyClip): number[] => {
  const view = new DataView(clip.bytes.buffer, clip.bytes.byteOffset + 44);
  return Array.from({ length: clip.measures.samples }, (_, index) => view.getInt16(index * 2, true));
};

describe("openClipReader", () => {
  it("passes a clip in the stored form through byte for byte", () => {
    const bytes = riff([fmt(), data(s16(sine(440, 16_000, { seconds: 0.1 })))]);
    expect(isClip(bytes)).toBe(true);
    expect(read(bytes).bytes).toBe(bytes);
  });

  it("rewrites any other header and leaves 16-bit samples alone", () => {
    const values = [1, -1, 32_767, -32_768, 12_345];
    const clip = read(riff([fmt(), { id: "LIST", body: new Uint8Array(8) }, data(s16(values))]));
    expect(samplesOf(clip)).toEqual(values);
    expect(isClip(clip.bytes)).toBe(true);
    // RIFF, 46 bytes follow, WAVE, fmt: PCM, mono, 16000 Hz, 32000 bytes/s, 2 bytes a frame, 16 bits; 10 bytes of data.
    expect(Buffer.from(clip.bytes.subarray(0, 44)).toString("hex")).toBe(
      [
        "524946462e00000057415645",
        "666d74201000000001000100803e0000007d000002001000",
        "646174610a000000",
      ].join(""),
    );
  });

  it("averages channels and rounds 24 bits to 16", () => {
    expect(samplesOf(read(riff([fmt({ channels: 2 }), data(s16([100, 300, -5, -7]))])))).toEqual([200, -6]);
    expect(samplesOf(read(riff([fmt({ bits: 24 }), data(s24([256 * 77 + 128, -256 * 9]))])))).toEqual([
      78, -9,
    ]);
  });

  it("clips floats above full scale and says how many", () => {
    const clip = read(riff([fmt({ tag: 3, bits: 32 }), data(f32([0.5, 1.4, -1.4, 0]))]));
    expect(samplesOf(clip)).toEqual([16_384, 32_767, -32_768, 0]);
    expect(clip.measures.clippedShare).toBe(0.5);
  });

  it("remembers the source and resamples to 16 kHz", () => {
    const clip = read(riff([fmt({ rate: 24_000 }), data(s16(sine(440, 24_000, { seconds: 0.5 })))]));
    expect(clip.source).toEqual({ encoding: "pcm", bits: 16, channels: 1, rate: 24_000 });
    expect(clip.measures.seconds).toBe(0.5);
  });

  it("hands a refusal on", () => {
    expect(readClip(new Uint8Array())).toMatchObject({ outcome: "rejected", reason: "empty_file" });
  });
});

describe("measureClip", () => {
  it("flags digital silence by a peak of 0", () => {
    const { measures } = read(riff([fmt(), data(s16(Array.from({ length: 1_600 }, () => 0)))]));
    expect(measures).toEqual({ seconds: 0.1, samples: 1_600, peak: 0, clippedShare: 0, silenceShare: 1 });
  });

  it("measures peak and the share of quiet windows", () => {
    const tone = sine(400, 16_000, { seconds: 0.1, amplitude: 0.25 });
    const clip = read(riff([fmt(), data(s16([...tone, ...Array.from({ length: 4_800 }, () => 3)]))]));
    expect(measureClip(clip.bytes).silenceShare).toBe(0.75);
    expect(clip.measures.peak).toBeCloseTo(0.25, 3);
  });
});
