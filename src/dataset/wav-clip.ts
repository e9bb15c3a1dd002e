import { isFlac, openFlac, writeClip } from "../audio/index.ts";
import { UserError } from "../core/errors.ts";
import type { Clip } from "./schema.ts";

/** The clip as WAV, which every player plays: a stored FLAC decoded to the very samples, a WAV as it is. UserError `CLIP_BAD`. */
export const wavClip = async (clip: Clip): Promise<Clip> => {
  if (!isFlac(clip.bytes)) return clip;
  const decoded = (await openFlac()).decode(clip.bytes);
  const [samples] = decoded.outcome === "decoded" ? decoded.channels : [];
  if (decoded.outcome === "rejected" || !samples)
    throw new UserError(
      "CLIP_BAD",
      `The clip ${clip.path} cannot be decoded${decoded.outcome === "rejected" ? `: ${decoded.message}` : ""}`,
      { hint: "compare the shards with their lock: understudy dataset check NAME" },
    );
  return { bytes: writeClip(samples), path: clip.path.replace(/\.flac$/, ".wav") };
};
