import { measureClip, type ClipMeasures } from "./measure.ts";
import { readWav } from "./read-wav.ts";
import { resampler, type Resample } from "./resample.ts";
import type { Decoded, Rejected, WavFormat, WavNote } from "./result.ts";
import { CLIP_RATE, isClip, writeClip } from "./write-wav.ts";

/** A clip in the one stored form, and what it was before. */
export interface ReadyClip {
  readonly outcome: "clip";
  /** RIFF, 16 kHz, mono, 16 bits, 44-byte header. */
  readonly bytes: Uint8Array;
  readonly source: WavFormat;
  readonly notes: readonly WavNote[];
  readonly measures: ClipMeasures;
}

const STORED: WavFormat = { encoding: "pcm", bits: 16, channels: 1, rate: CLIP_RATE };

export type ReadClip = (bytes: Uint8Array) => ReadyClip | Rejected;

/**
 * A reader that brings any WAV file into the stored form: channels averaged, resampled with a low-pass, rounded to 16
 * bits. A file that has this form already comes back byte for byte. It keeps the filters of the rates it has seen.
 */
export const clipReader = (): ReadClip => {
  const resamplers = new Map<number, Resample>();
  const to16k = (rate: number): Resample => {
    const made = resamplers.get(rate) ?? resampler(rate, CLIP_RATE);
    resamplers.set(rate, made);
    return made;
  };
  return (bytes) => {
    if (isClip(bytes)) return ready(bytes, { format: STORED, notes: [] });
    const wav = readWav(bytes);
    if (wav.outcome === "rejected") return wav;
    return ready(writeClip(to16k(wav.format.rate)(mono(wav.channels))), wav);
  };
};

function ready(bytes: Uint8Array, { format, notes }: Pick<Decoded, "format" | "notes">): ReadyClip {
  return { outcome: "clip", bytes, source: format, notes, measures: measureClip(bytes) };
}

function mono(channels: readonly Float32Array[]): Float32Array {
  const [first, ...others] = channels;
  if (first === undefined) return new Float32Array();
  if (others.length === 0) return first;
  return first.map(
    (sample, frame) => others.reduce((sum, channel) => sum + (channel[frame] ?? 0), sample) / channels.length,
  );
}
