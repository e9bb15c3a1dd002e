import { digestOf } from "../core/hash.ts";
import type { System } from "./schema.ts";

/** Values that go into a digest. */
export type JsonValue =
  | string
  | number
  | boolean
  | null
  | readonly JsonValue[]
  | { readonly [key: string]: JsonValue };

/**
 * Identity of what answers: weights, voice, decoding and preamble. Id and label stay out, so that one model state under
 * two names is recognised as one.
 */
export const systemDigest = (
  system: Pick<System, "weightsDigest" | "speaker">,
  settings: { readonly decoding: JsonValue; readonly preamble: string },
): string =>
  digestOf({
    weights: system.weightsDigest,
    speaker: system.speaker,
    decoding: settings.decoding,
    preamble: settings.preamble,
  });
