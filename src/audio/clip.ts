import { sha256 } from "../core/hash.ts";
import { isFlac, openFlac } from "./flac.ts";
import { measureClip, type ClipMeasures } from "./measure.ts";
import { readWav } from "./read-wav.ts";
import { openResampler } from "./resample.ts";
import type { Decoded, Rejected, WavFormat, WavNote } from "./result.ts";
import { CLIP_RATE, clipPcm, clipSamples, isClip, writeClip } from "./write-wav.ts";

/** How the samples of a stored clip are kept: WAV with the 44-byte header, or FLAC (about half the bytes, lossless). */
export type ClipCodec = "wav" | "flac";

/** A clip in the stored form, and what it was before. */
export interface ReadyClip {
  readonly outcome: "clip";
  /** 16 kHz, mono, 16 bits, in the codec of the reader. */
  readonly bytes: Uint8Array;
  readonly codec: ClipCodec;
  readonly source: WavFormat;
  readonly notes: readonly WavNote[];
  readonly measures: ClipMeasures;
  /** SHA-256 of the file as it was read. */
  readonly sourceSha256: string;
  /** SHA-256 of the stored samples (little-endian), the same for either codec. */
  readonly pcmSha256: string;
}

const STORED: WavFormat = { encoding: "pcm", bits: 16, channels: 1, rate: CLIP_RATE };

export type ReadClip = (bytes: Uint8Array) => ReadyClip | Rejected;

/**
 * Opens a reader that brings any WAV or FLAC file into the stored form: channels averaged, resampled with a low-pass,
 * rounded to 16 bits, loudness untouched. A WAV file that has this form already comes back byte for byte.
 */
export const openClipReader = async (codec: ClipCodec = "wav"): Promise<ReadClip> => {
  const [to16k, flac] = await Promise.all([openResampler(CLIP_RATE), openFlac()]);
  const stored = (wav: Uint8Array): Uint8Array =>
    codec === "wav" ? wav : flac.encode(clipSamples(wav), CLIP_RATE);
  return (bytes) => {
    const finish = (wav: Uint8Array, { format, notes }: Pick<Decoded, "format" | "notes">): ReadyClip => ({
      outcome: "clip",
      bytes: stored(wav),
      codec,
      source: format,
      notes,
      measures: measureClip(wav),
      sourceSha256: sha256(bytes),
      pcmSha256: sha256(clipPcm(wav)),
    });
    if (isClip(bytes)) return finish(bytes, { format: STORED, notes: [] });
    const decoded = isFlac(bytes) ? flac.decode(bytes) : readWav(bytes);
    if (decoded.outcome === "rejected") return decoded;
    return finish(writeClip(to16k(mono(decoded.channels), decoded.format.rate)), decoded);
  };
};

function mono(channels: readonly Float32Array[]): Float32Array {
  const [first, ...others] = channels;
  if (first === undefined) return new Float32Array();
  if (others.length === 0) return first;
  return first.map(
    (sample, frame) => others.reduce((sum, channel) => sum + (channel[frame] ?? 0), sample) / channels.length,
  );
}
