import { sha256 } from "../core/hash.ts";
import { isFlac, openFlac, type Flac } from "./flac.ts";
import { measureClip, type ClipMeasures } from "./measure.ts";
import { readWav } from "./read-wav.ts";
import { openResampler, type Resample } from "./resample.ts";
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
  /** Samples at 16 kHz. */
  readonly samples: number;
  /** Every sample is the same. */
  readonly isSilent: boolean;
  /** Computed when first asked for, as the digests are: a clip that is read again to be stored needs not all of them. */
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
  return (bytes) => convert(bytes, codec, { to16k, flac });
};

/**
 * A reader like that of `openClipReader`, which loads what resamples and what knows FLAC with the first clip that needs it:
 * together they take 25 MB in every thread.
 */
export const lazyClipReader = (
  codec: ClipCodec = "wav",
): ((bytes: Uint8Array) => Promise<ReadyClip | Rejected>) => {
  const resampler = once(async () => openResampler(CLIP_RATE));
  const library = once(openFlac);
  return async (bytes) =>
    convert(bytes, codec, {
      to16k: isClip(bytes) ? (samples) => samples : await resampler(),
      flac: codec === "flac" || isFlac(bytes) ? await library() : undefined,
    });
};

interface Tools {
  readonly to16k: Resample;
  /** Needed for FLAC on either side. */
  readonly flac: Flac | undefined;
}

function convert(bytes: Uint8Array, codec: ClipCodec, { to16k, flac }: Tools): ReadyClip | Rejected {
  const ready = (wav: Uint8Array, { format, notes }: Pick<Decoded, "format" | "notes">): ReadyClip => {
    const measures = once(() => measureClip(wav));
    const sourceSha256 = once(() => sha256(bytes));
    const pcmSha256 = once(() => sha256(clipPcm(wav)));
    return {
      outcome: "clip",
      bytes: codec === "flac" && flac ? flac.encode(clipSamples(wav), CLIP_RATE) : wav,
      codec,
      source: format,
      notes,
      samples: Math.floor(clipPcm(wav).length / 2),
      isSilent: isConstant(clipPcm(wav)),
      get measures() {
        return measures();
      },
      get sourceSha256() {
        return sourceSha256();
      },
      get pcmSha256() {
        return pcmSha256();
      },
    };
  };
  if (isClip(bytes)) return ready(bytes, { format: STORED, notes: [] });
  const decoded = flac && isFlac(bytes) ? flac.decode(bytes) : readWav(bytes);
  if (decoded.outcome === "rejected") return decoded;
  return ready(writeClip(to16k(mono(decoded.channels), decoded.format.rate)), decoded);
}

// Speech has two different samples within a moment.
function isConstant(pcm: Uint8Array): boolean {
  return pcm.every((byte, at) => byte === pcm[at & 1]);
}

function once<Value>(compute: () => Value): () => Value {
  let known: { readonly value: Value } | undefined;
  return () => (known ??= { value: compute() }).value;
}

function mono(channels: readonly Float32Array[]): Float32Array {
  const [first, ...others] = channels;
  if (first === undefined) return new Float32Array();
  if (others.length === 0) return first;
  return first.map(
    (sample, frame) => others.reduce((sum, channel) => sum + (channel[frame] ?? 0), sample) / channels.length,
  );
}
