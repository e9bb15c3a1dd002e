import type { Range } from "./chunks.ts";
import { rejected, type Rejected, type WavFormat, type WavNote } from "./result.ts";

/** Bounds within which a rate can be speech and not a broken header. */
export const RATES = { lowest: 4_000, highest: 384_000 } as const;
export const MOST_CHANNELS = 32;

export interface ReadFormat {
  readonly outcome: "format";
  readonly format: WavFormat;
  readonly notes: readonly WavNote[];
}

const EXTENSIBLE = 0xfffe;
const ENCODINGS: Readonly<Record<number, WavFormat["encoding"]>> = {
  1: "pcm",
  3: "float",
  6: "a-law",
  7: "mu-law",
};
// Named so that the message tells what to convert; their codes must never be taken for samples.
const UNREADABLE: Readonly<Record<number, string>> = {
  0x02: "Microsoft ADPCM",
  0x11: "IMA ADPCM",
  0x31: "GSM 6.10",
  0x40: "G.721 ADPCM",
  0x50: "MPEG audio",
  0x55: "MP3",
  0x92: "AC-3",
  0xff: "AAC",
  0x161: "Windows Media Audio",
};
const WIDTHS: Readonly<Record<WavFormat["encoding"], readonly number[]>> = {
  pcm: [8, 16, 24, 32],
  float: [32, 64],
  "a-law": [8],
  "mu-law": [8],
};

/** The fmt chunk, checked; the block size is computed rather than believed. */
export const readFormat = (view: DataView, range: Range, littleEndian: boolean): ReadFormat | Rejected => {
  const size = range.end - range.start;
  if (size < 16) return rejected("broken_header", `the fmt chunk has ${size} bytes, at least 16 are needed`);
  const word = (offset: number): number => view.getUint16(range.start + offset, littleEndian);
  const outer = word(0);
  if (outer === EXTENSIBLE && size < 26)
    return rejected("broken_header", "the extensible fmt chunk is too short to name its encoding");
  // The first two bytes of the sub-format GUID are the plain tag.
  const tag = outer === EXTENSIBLE ? word(24) : outer;
  const encoding = ENCODINGS[tag];
  if (encoding === undefined) return unsupported(tag);
  const channels = word(2);
  const rate = view.getUint32(range.start + 4, littleEndian);
  // Valid bits are informative: samples are scaled by their container.
  const bits = Math.ceil(word(14) / 8) * 8;
  if (!WIDTHS[encoding].includes(bits))
    return rejected("unsupported_encoding", `${encoding} samples of ${word(14)} bits are not supported`);
  const format: WavFormat = { encoding, bits, channels, rate };
  const notes: WavNote[] = word(12) === (bits / 8) * channels ? [] : ["wrong_block_align"];
  return outOfBounds(format) ?? { outcome: "format", format, notes };
};

function unsupported(tag: number): Rejected {
  const name = UNREADABLE[tag] ?? `encoding 0x${tag.toString(16).padStart(4, "0")}`;
  return rejected("unsupported_encoding", `the samples are ${name}, which is not supported: convert to PCM`);
}

/** Refuses numbers of channels and rates that no recording of speech has. */
export function outOfBounds({ channels, rate }: WavFormat): Rejected | undefined {
  if (channels < 1 || channels > MOST_CHANNELS)
    return rejected(
      "channels_out_of_bounds",
      `the header says ${channels} channels, 1 to ${MOST_CHANNELS} are possible`,
    );
  if (rate < RATES.lowest || rate > RATES.highest)
    return rejected(
      "rate_out_of_bounds",
      `the header says ${rate} Hz, ${RATES.lowest} to ${RATES.highest} Hz are possible`,
    );
  return undefined;
}
