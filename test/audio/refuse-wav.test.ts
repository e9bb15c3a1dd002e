import { describe, expect, it } from "vitest";
import { readWav, type WavFault } from "../../src/audio/index.ts";
import { ascii, data, ds64, extensible, f32, fmt, odd, riff, s16 } from "./build-wav.ts";

const SAMPLES = [0, 16_384, -16_384, 32_767, -32_768];
const HTML = ascii("<!DOCTYPE html><html><body>404</body></html>");
const POINTER = ascii("version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 9\n");

const bad: readonly (readonly [name: string, Uint8Array, WavFault, string])[] = [
  ["an empty file", new Uint8Array(), "empty_file", "the file is empty"],
  [
    "a Git LFS pointer",
    POINTER,
    "git_lfs_pointer",
    "the file is a Git LFS pointer: the audio itself was not downloaded (run git lfs pull)",
  ],
  [
    "an HTML page",
    HTML,
    "not_wav",
    "the file is not a WAV file: it looks like an HTML or XML page, such as an error page of a download",
  ],
  [
    "MP3 with a tag",
    ascii("ID3\x04\x00rest"),
    "not_wav",
    "the file is not a WAV file: it looks like an MP3 file (ID3 tag)",
  ],
  [
    "bare MP3",
    ascii("\xff\xfb\x90\x00"),
    "not_wav",
    "the file is not a WAV file: it looks like an MP3 or AAC stream",
  ],
  ["FLAC", ascii("fLaC...."), "not_wav", "the file is not a WAV file: it looks like a FLAC file"],
  [
    "noise",
    ascii("\x01\x02\x03\x04\x05\x06\x07\x08\x09"),
    "not_wav",
    "the file is not a WAV file: it starts with the bytes 0102030405060708",
  ],
  ["no data chunk", riff([fmt()]), "broken_header", "the file has no data chunk"],
  ["no fmt chunk", riff([data(s16(SAMPLES))]), "broken_header", "the file has no fmt chunk"],
  [
    "a short fmt chunk",
    riff([{ id: "fmt ", body: new Uint8Array(14) }, data(s16(SAMPLES))]),
    "broken_header",
    "the fmt chunk has 14 bytes, at least 16 are needed",
  ],
  [
    "a chunk that runs over the end",
    riff([fmt(), { ...odd("LIST", 4), size: 900 }, data(s16(SAMPLES))]),
    "broken_header",
    'the chunk "LIST" at byte 36 says 900 bytes but only 22 follow',
  ],
  [
    "truncated data",
    riff([fmt(), data(s16(SAMPLES), { size: 4_000 })]),
    "truncated",
    "the audio is cut off: its header says 4000 bytes of samples but only 10 are there",
  ],
  [
    "truncated RF64, more than 4 GiB",
    riff([ds64(5_000_000_000n), fmt(), data(s16(SAMPLES), { size: 0xffff_ffff })], { id: "RF64" }),
    "truncated",
    "the audio is cut off: its header says 5000000000 bytes of samples but only 10 are there",
  ],
  ["data size 0 at the end", riff([fmt(), data(new Uint8Array())]), "no_samples", "the file has no samples"],
  [
    "data size 0 before another chunk",
    riff([fmt(), data(new Uint8Array()), odd("LIST", 4)]),
    "no_samples",
    "the file has no samples",
  ],
  ["less than one frame", riff([fmt(), data(Uint8Array.of(1))]), "no_samples", "the file has no samples"],
  [
    "ADPCM",
    riff([fmt({ tag: 2, bits: 4 }), data(new Uint8Array(8))]),
    "unsupported_encoding",
    "the samples are Microsoft ADPCM, which is not supported: convert to PCM",
  ],
  [
    "IMA ADPCM in an extensible header",
    riff([fmt({ tag: 0xfffe, bits: 4, extra: extensible(0x11, 4) }), data(new Uint8Array(8))]),
    "unsupported_encoding",
    "the samples are IMA ADPCM, which is not supported: convert to PCM",
  ],
  [
    "an unknown encoding",
    riff([fmt({ tag: 0x1234 }), data(new Uint8Array(8))]),
    "unsupported_encoding",
    "the samples are encoding 0x1234, which is not supported: convert to PCM",
  ],
  [
    "48-bit PCM",
    riff([fmt({ bits: 48 }), data(new Uint8Array(12))]),
    "unsupported_encoding",
    "pcm samples of 48 bits are not supported",
  ],
  [
    "rate 0",
    riff([fmt({ rate: 0 }), data(s16(SAMPLES))]),
    "rate_out_of_bounds",
    "the header says 0 Hz, 4000 to 384000 Hz are possible",
  ],
  [
    "0 channels",
    riff([fmt({ channels: 0 }), data(s16(SAMPLES))]),
    "channels_out_of_bounds",
    "the header says 0 channels, 1 to 32 are possible",
  ],
  ["NaN", riff([fmt({ tag: 3, bits: 32 }), data(f32([0, Number.NaN]))]), "not_finite", "frame 1 is NaN"],
  [
    "infinity",
    riff([fmt({ tag: 3, bits: 32 }), data(f32([Number.NEGATIVE_INFINITY]))]),
    "not_finite",
    "frame 0 is -Infinity",
  ],
  [
    "integers stored as floats",
    riff([fmt({ tag: 3, bits: 32 }), data(f32([0.5, 12_000]))]),
    "out_of_range",
    "frame 1 is 12000: floats must lie between -1 and 1",
  ],
];

describe("readWav refuses", () => {
  it.each(bad)("%s", (_, bytes, reason, message) => {
    expect(readWav(bytes)).toEqual({ outcome: "rejected", reason, message });
  });

  it("every prefix of a file without throwing, and never gives more samples than are there", () => {
    const file = riff([fmt(), odd("LIST", 27), data(s16(SAMPLES))]);
    for (let length = 0; length < file.length; length++) {
      const wav = readWav(file.subarray(0, length));
      expect(wav.outcome, `prefix of ${length} bytes`).toBe("rejected");
    }
  });
});
