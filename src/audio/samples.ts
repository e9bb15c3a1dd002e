import type { Range } from "./chunks.ts";
import { aLaw, muLaw } from "./companding.ts";
import type { WavFormat } from "./result.ts";

type Read = (offset: number) => number;

/** Samples of each channel at full scale ±1. A started last frame is left out. */
export const readSamples = (
  view: DataView,
  data: Range,
  { format, littleEndian }: { readonly format: WavFormat; readonly littleEndian: boolean },
): Float32Array[] => {
  const width = format.bits / 8;
  const frames = Math.floor((data.end - data.start) / (width * format.channels));
  const read = readerOf(view, format, littleEndian);
  return Array.from({ length: format.channels }, (_, channel) => {
    const samples = new Float32Array(frames);
    let offset = data.start + channel * width;
    for (let frame = 0; frame < frames; frame++, offset += width * format.channels)
      samples[frame] = read(offset);
    return samples;
  });
};

// Everything goes through a DataView: floats need not be aligned, and the bytes may be a slice of a larger buffer.
function readerOf(view: DataView, { encoding, bits }: WavFormat, littleEndian: boolean): Read {
  if (encoding === "a-law") return (offset) => aLaw(view.getUint8(offset)) / 32_768;
  if (encoding === "mu-law") return (offset) => muLaw(view.getUint8(offset)) / 32_768;
  if (encoding === "float")
    return bits === 64
      ? (offset) => view.getFloat64(offset, littleEndian)
      : (offset) => view.getFloat32(offset, littleEndian);
  if (bits === 8) return (offset) => (view.getUint8(offset) - 128) / 128;
  if (bits === 16) return (offset) => view.getInt16(offset, littleEndian) / 32_768;
  if (bits === 24) return littleEndian ? (offset) => little24(view, offset) : (offset) => big24(view, offset);
  return (offset) => view.getInt32(offset, littleEndian) / 2_147_483_648;
}

function little24(view: DataView, offset: number): number {
  return (view.getUint16(offset, true) + view.getInt8(offset + 2) * 65_536) / 8_388_608;
}

function big24(view: DataView, offset: number): number {
  return (view.getUint16(offset + 1, false) + view.getInt8(offset) * 65_536) / 8_388_608;
}
