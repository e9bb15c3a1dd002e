/** Why a file is refused, as a stable word for counting. */
export type WavFault =
  | "empty_file"
  | "git_lfs_pointer"
  | "not_wav"
  | "broken_header"
  | "broken_flac"
  | "unsupported_encoding"
  | "rate_out_of_bounds"
  | "channels_out_of_bounds"
  | "truncated"
  | "no_samples"
  | "not_finite"
  | "out_of_range";

/** Something unusual that does not make a file unusable. */
export type WavNote =
  | "streaming_header"
  | "wrong_riff_size"
  | "missing_pad_byte"
  | "tail_ignored"
  | "ends_mid_frame"
  | "wrong_block_align";

export interface Rejected {
  readonly outcome: "rejected";
  readonly reason: WavFault;
  /** One sentence without a final stop, e.g. `the data chunk says 3200 bytes but only 1000 follow`. */
  readonly message: string;
}

export interface WavFormat {
  readonly encoding: "pcm" | "float" | "a-law" | "mu-law";
  /** Bits of the container of one sample: 8, 16, 24, 32 or 64. */
  readonly bits: number;
  readonly channels: number;
  /** Frames per second. */
  readonly rate: number;
}

export interface Decoded {
  readonly outcome: "decoded";
  readonly format: WavFormat;
  /** One array per channel, full scale ±1; floats above 1 are kept as they are. */
  readonly channels: readonly Float32Array[];
  readonly notes: readonly WavNote[];
}

export const rejected = (reason: WavFault, message: string): Rejected => ({
  outcome: "rejected",
  reason,
  message,
});
