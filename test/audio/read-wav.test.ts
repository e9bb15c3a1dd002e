import { describe, expect, it } from "vitest";
import { readWav, type WavNote } from "../../src/audio/index.ts";
import { ascii, data, ds64, extensible, f32, f64, fmt, odd, riff, s16, s24, s32 } from "./build-wav.ts";

const SAMPLES = [0, 16_384, -16_384, 32_767, -32_768];
const EXPECTED = SAMPLES.map((value) => value / 32_768);
interface Good {
  readonly name: string;
  readonly bytes: Uint8Array;
  readonly samples?: readonly (readonly number[])[];
  readonly notes?: readonly WavNote[];
}

const good: readonly Good[] = [
  { name: "plain 16-bit", bytes: riff([fmt(), data(s16(SAMPLES))]) },
  {
    name: "LIST and JUNK before data",
    bytes: riff([fmt(), odd("LIST", 26), odd("JUNK", 28), data(s16(SAMPLES))]),
  },
  { name: "odd chunk with pad byte", bytes: riff([fmt(), odd("LIST", 27), data(s16(SAMPLES))]) },
  {
    name: "odd chunk without pad byte",
    bytes: riff([fmt(), { ...odd("LIST", 27), pad: false }, data(s16(SAMPLES))]),
    notes: ["missing_pad_byte"],
  },
  {
    name: "chunks behind 24-bit data",
    bytes: riff([fmt({ bits: 24 }), data(s24([0, 4_194_304, -8_388_608])), odd("LIST", 9), odd("id3 ", 4)]),
    samples: [[0, 0.5, -1]],
  },
  {
    name: "rubbish behind data",
    bytes: new Uint8Array(Buffer.concat([riff([fmt(), data(s16(SAMPLES))]), ascii("rubbish and more")])),
    notes: ["tail_ignored", "wrong_riff_size"],
  },
  {
    name: "streaming header, data size -1",
    bytes: riff([fmt(), data(s16(SAMPLES), { size: 0xffff_ffff })], { size: 0xffff_ffff }),
    notes: ["streaming_header", "wrong_riff_size"],
  },
  {
    name: "streaming header, greatest signed size",
    bytes: riff([fmt(), data(s16(SAMPLES), { size: 0x7fff_ffff - 36 })], { size: 0x7fff_ffff }),
    notes: ["streaming_header", "wrong_riff_size"],
  },
  {
    name: "data size 0 but samples follow",
    bytes: riff([fmt(), data(s16(SAMPLES), { size: 0 })]),
    notes: ["streaming_header"],
  },
  {
    name: "wrong RIFF size",
    bytes: riff([fmt(), data(s16(SAMPLES))], { size: 7 }),
    notes: ["wrong_riff_size"],
  },
  {
    name: "end in the middle of a frame",
    bytes: riff([fmt(), data(Uint8Array.from([...s16(SAMPLES), 9]))]),
    notes: ["ends_mid_frame"],
  },
  {
    name: "extensible",
    bytes: riff([fmt({ tag: 0xfffe, extra: extensible(1, 16) }), data(s16(SAMPLES))]),
  },
  {
    name: "24 valid bits in a 32-bit container",
    bytes: riff([
      fmt({ tag: 0xfffe, bits: 32, extra: extensible(1, 24) }),
      data(s32([0x4000_0000, -0x8000_0000])),
    ]),
    samples: [[0.5, -1]],
  },
  { name: "32-bit PCM", bytes: riff([fmt({ bits: 32 }), data(s32([0x2000_0000]))]), samples: [[0.25]] },
  {
    name: "float32 with a 2-byte extension, so that its samples are not aligned",
    bytes: riff([
      fmt({ tag: 3, bits: 32, extra: new Uint8Array(2) }),
      { id: "fact", body: new Uint8Array(4) },
      data(f32([0.25, 1.5, -0.5])),
    ]),
    samples: [[0.25, 1.5, -0.5]],
  },
  {
    name: "float64",
    bytes: riff([fmt({ tag: 3, bits: 64 }), data(f64([0.25, -0.5]))]),
    samples: [[0.25, -0.5]],
  },
  {
    name: "8-bit, odd length",
    bytes: riff([fmt({ bits: 8 }), data(Uint8Array.from([128, 255, 0, 192, 64]))]),
    samples: [[0, 127 / 128, -1, 0.5, -0.5]],
  },
  {
    name: "mu-law",
    bytes: riff([fmt({ tag: 7, bits: 8 }), data(Uint8Array.from([0xff, 0x00, 0x80, 0xd0]))]),
    samples: [[0, -32_124 / 32_768, 32_124 / 32_768, 876 / 32_768]],
  },
  {
    name: "A-law",
    bytes: riff([fmt({ tag: 6, bits: 8 }), data(Uint8Array.from([0xd5, 0x55, 0xaa, 0x2a]))]),
    samples: [[8 / 32_768, -8 / 32_768, 32_256 / 32_768, -32_256 / 32_768]],
  },
  { name: "data before fmt", bytes: riff([data(s16(SAMPLES)), fmt()]) },
  {
    name: "RF64 with sizes in ds64",
    bytes: riff([ds64(10n), fmt(), data(s16(SAMPLES), { size: 0xffff_ffff })], {
      id: "RF64",
      size: 0xffff_ffff,
    }),
  },
  {
    name: "BW64 whose writer never came back to fill in its sizes",
    bytes: riff([ds64(0xffff_ffff_ffff_ffffn), fmt(), data(s16(SAMPLES), { size: 0xffff_ffff })], {
      id: "BW64",
    }),
    notes: ["streaming_header"],
  },
  {
    name: "RIFX",
    bytes: riff([fmt({ bigEndian: true }), data(s16(SAMPLES, false))], { bigEndian: true }),
  },
  {
    name: "RIFX of 24 bits",
    bytes: riff([fmt({ bits: 24, bigEndian: true }), data(s24([0, 4_194_304, -8_388_608, 1], false))], {
      bigEndian: true,
    }),
    samples: [[0, 0.5, -1, 1 / 8_388_608]],
  },
  {
    name: "wrong block size",
    bytes: riff([fmt({ blockAlign: 1 }), data(s16(SAMPLES))]),
    notes: ["wrong_block_align"],
  },
  {
    name: "stereo",
    bytes: riff([fmt({ channels: 2 }), data(s16([16_384, -16_384, 0, 8_192]))]),
    samples: [
      [0.5, 0],
      [-0.5, 0.25],
    ],
  },
];

describe("readWav reads", () => {
  it.each(good)("$name", ({ bytes, samples = [EXPECTED], notes = [] }) => {
    const wav = readWav(bytes);
    expect(wav).toMatchObject({ outcome: "decoded", notes });
    expect(wav.outcome === "decoded" && wav.channels.map((channel) => [...channel])).toEqual(samples);
  });

  it("a slice of a larger, shared buffer at an odd offset", () => {
    const file = riff([fmt(), data(s16(SAMPLES))]);
    const pool = new Uint8Array(file.length + 64).fill(77);
    pool.set(file, 13);
    const wav = readWav(pool.subarray(13, 13 + file.length));
    expect(wav.outcome === "decoded" && [...(wav.channels[0] ?? [])]).toEqual(EXPECTED);
  });
});
