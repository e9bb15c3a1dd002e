import { rejected, type Rejected } from "./result.ts";

// What people store under the name .wav, by its first bytes.
const PREFIXES: Readonly<Record<string, string>> = {
  ID3: "an MP3 file (ID3 tag)",
  fLaC: "a FLAC file",
  OggS: "an Ogg file",
  ".snd": "a Sun audio file",
  "#!AMR": "an AMR file",
  "\x1aE\xdf\xa3": "a Matroska or WebM file",
  "\x1f\x8b": "a gzip file",
  "PK\x03\x04": "a ZIP file",
};
const PATTERNS: readonly (readonly [RegExp, string])[] = [
  [/^\xff[\xe2-\xff]/, "an MP3 or AAC stream"],
  [/^FORM....AIF[FC]/s, "an AIFF file"],
  [/^.{4}ftyp/s, "an MP4 or M4A file"],
  [/^RIFF....AVI /s, "an AVI file"],
  [/^RIFF....WEBP/s, "a WebP picture"],
  [/^\s*<(!doctype|html|\?xml|head|body)/i, "an HTML or XML page, such as an error page of a download"],
  [/^\s*[{[]/, "JSON text"],
];

const LFS = /^version https:\/\/git-lfs\.github\.com\/spec/;

/** Why bytes that do not start like a RIFF WAVE file are refused, naming what they look like; undefined for a WAVE file. */
export const sniff = (bytes: Uint8Array): Rejected | undefined => {
  if (bytes.length === 0) return rejected("empty_file", "the file is empty");
  const head = Buffer.from(bytes.subarray(0, 256)).toString("latin1");
  if (LFS.test(head)) {
    return rejected(
      "git_lfs_pointer",
      "the file is a Git LFS pointer: the audio itself was not downloaded (run git lfs pull)",
    );
  }
  if (/^(RIFF|RIFX|RF64|BW64)....WAVE/s.test(head)) return undefined;
  return rejected("not_wav", `the file is not a WAV file: ${describe(head)}`);
};

function describe(head: string): string {
  const prefix = Object.keys(PREFIXES).find((start) => head.startsWith(start));
  const name = PREFIXES[prefix ?? ""] ?? PATTERNS.find(([pattern]) => pattern.test(head))?.[1];
  if (name !== undefined) return `it looks like ${name}`;
  return `it starts with the bytes ${Buffer.from(head.slice(0, 8), "latin1").toString("hex")}`;
}
