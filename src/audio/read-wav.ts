import { walkChunks } from "./chunks.ts";
import { readFormat } from "./format.ts";
import { rejected, type Decoded, type Rejected, type WavNote } from "./result.ts";
import { readSamples } from "./samples.ts";
import { sniff } from "./sniff.ts";

// Floats slightly above 1 are overshoot and get clipped; this far above, they are integers in disguise.
const HIGHEST_FLOAT = 8;

/**
 * Reads a WAV file: RIFF, RIFX, RF64 or BW64 with PCM of 8 to 32 bits, floats, mu-law or A-law. Never throws on bytes:
 * what cannot be trusted is `rejected` with a reason; oddities that do no harm are `notes`.
 */
export const readWav = (bytes: Uint8Array): Decoded | Rejected => {
  const strange = sniff(bytes);
  if (strange) return strange;
  const chunks = walkChunks(bytes);
  if (chunks.outcome === "rejected") return chunks;
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const read = readFormat(view, chunks.format, chunks.littleEndian);
  if (read.outcome === "rejected") return read;
  const { format } = read;
  const blockAlign = (format.bits / 8) * format.channels;
  const size = chunks.data.end - chunks.data.start;
  if (size < blockAlign) return rejected("no_samples", "the file has no samples");
  const channels = readSamples(view, chunks.data, { format, littleEndian: chunks.littleEndian });
  const fault = format.encoding === "float" ? unusableFloat(channels) : undefined;
  if (fault) return fault;
  const notes: WavNote[] = [...chunks.notes, ...read.notes];
  if (size % blockAlign !== 0) notes.push("ends_mid_frame");
  return { outcome: "decoded", format, channels, notes: notes.toSorted() };
};

function unusableFloat(channels: readonly Float32Array[]): Rejected | undefined {
  for (const samples of channels) {
    const frame = samples.findIndex((sample) => !(Math.abs(sample) <= HIGHEST_FLOAT));
    const value = samples[frame];
    if (value === undefined) continue;
    return Number.isFinite(value)
      ? rejected("out_of_range", `frame ${frame} is ${value}: floats must lie between -1 and 1`)
      : rejected("not_finite", `frame ${frame} is ${value}`);
  }
  return undefined;
}
