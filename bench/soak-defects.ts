import type { Language } from "./pack-words.ts";

/** A turn as the released role files have it; audio inline. */
export interface RawTurn {
  [key: string]: unknown;
  user: string;
  role: string;
}

/** Good parts that a defect is planted among. */
export interface Parts {
  readonly language: Language;
  readonly turn: () => RawTurn;
  /** A WAV of so many seconds. */
  readonly clip: (seconds: number) => Buffer;
  readonly answer: (words: number) => string;
  readonly dataUrl: (bytes: Uint8Array) => string;
}

const changed = (wav: Buffer, change: (bytes: Buffer) => void): Buffer => {
  change(wav);
  return wav;
};
const withAnswer = (parts: Parts, clip: Uint8Array): object[] => [
  { ...parts.turn(), role_speech_base64: parts.dataUrl(clip) },
];
const RATE_AT = 24;
const CHANNELS_AT = 22;
const FORMAT_AT = 20;
const CLIP_SECONDS = 0.4;

/** A dialogue of one turn, or raw text in its place, that must be dropped for exactly the reason it is listed under. */
export const DEFECTS: Readonly<Record<string, (parts: Parts) => readonly object[] | string>> = {
  json_invalid: () => '{"dialogue": [oops]}',
  shape: (parts) => [{ ...parts.turn(), user: 7 }],
  turn_count: (parts) => [parts.turn(), parts.turn()],
  text_empty: (parts) => [{ ...parts.turn(), role: " " }],
  text_invalid: (parts) => [{ ...parts.turn(), role: "half \ud800 a pair" }],
  user_audio_missing: (parts) => [{ ...parts.turn(), user_speech_base64: "" }],
  audio_base64: (parts) => [{ ...parts.turn(), role_speech_base64: "data:audio/wav;base64,UklG!!!!" }],
  audio_missing: (parts) => [
    { ...parts.turn(), role_speech_base64: undefined, role_speech_path: "audio/nowhere.wav" },
  ],
  audio_path: (parts) => [
    { ...parts.turn(), role_speech_base64: undefined, role_speech_path: "../outside.wav" },
  ],
  audio_empty_file: (parts) => withAnswer(parts, Buffer.alloc(0)),
  audio_git_lfs_pointer: (parts) =>
    withAnswer(parts, Buffer.from("version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n")),
  audio_not_wav: (parts) => withAnswer(parts, Buffer.from("<!doctype html><title>404</title>")),
  audio_broken_header: (parts) =>
    withAnswer(
      parts,
      changed(parts.clip(CLIP_SECONDS), (wav) => wav.write("fnt ", 12, "latin1")),
    ),
  audio_broken_flac: (parts) => withAnswer(parts, Buffer.from("fLaC and then nothing that is FLAC")),
  audio_unsupported_encoding: (parts) =>
    withAnswer(
      parts,
      changed(parts.clip(CLIP_SECONDS), (wav) => wav.writeUInt16LE(0x11, FORMAT_AT)),
    ),
  audio_rate_out_of_bounds: (parts) =>
    withAnswer(
      parts,
      changed(parts.clip(CLIP_SECONDS), (wav) => wav.writeUInt32LE(0, RATE_AT)),
    ),
  audio_channels_out_of_bounds: (parts) =>
    withAnswer(
      parts,
      changed(parts.clip(CLIP_SECONDS), (wav) => {
        wav.writeUInt16LE(0, CHANNELS_AT);
      }),
    ),
  audio_truncated: (parts) => withAnswer(parts, parts.clip(CLIP_SECONDS).subarray(0, 4_000)),
  audio_no_samples: (parts) => withAnswer(parts, parts.clip(0)),
  audio_not_finite: (parts) => withAnswer(parts, floats(parts, NaN)),
  audio_out_of_range: (parts) => withAnswer(parts, floats(parts, 9_000)),
  audio_silent: (parts) =>
    withAnswer(
      parts,
      changed(parts.clip(CLIP_SECONDS), (wav) => wav.fill(0, 44)),
    ),
  wrong_language: (parts) => [
    {
      ...parts.turn(),
      role: parts.language === "en" ? "我们今天一起去看海吧好吗" : "We shall go to the sea",
    },
  ],
  speech_cut_off: (parts) => [{ ...parts.turn(), role: parts.answer(40) }],
  speech_too_long: (parts) => [
    { ...parts.turn(), role: parts.answer(1), role_speech_base64: parts.dataUrl(parts.clip(5)) },
  ],
  meta_text: (parts) => [
    { ...parts.turn(), role: parts.language === "en" ? "As an AI I cannot" : "作为人工智能我不能" },
  ],
  stage_direction: (parts) => [
    { ...parts.turn(), role: parts.language === "en" ? "*looks away* No." : "*看着远方*不。" },
  ],
};

// 16-bit samples declared as floats of 32 bits would be as wild; these are floats, and one of them is not as it should be.
function floats(parts: Parts, wild: number): Buffer {
  const wav = parts.clip(CLIP_SECONDS);
  wav.writeUInt16LE(3, FORMAT_AT);
  wav.writeUInt16LE(4, 32);
  wav.writeUInt16LE(32, 34);
  for (let at = 44; at + 4 <= wav.length; at += 4) wav.writeFloatLE(at === 4_044 ? wild : 0.1, at);
  return wav;
}
