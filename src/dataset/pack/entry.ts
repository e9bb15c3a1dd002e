import { z } from "zod";
import { Drop } from "../lock-schema.ts";
import { Place } from "../source/place.ts";
import { DialogueKind, Language, Sha256 } from "../vocabulary.ts";

const count = z.int().nonnegative();
const ShortDigest = z.string().regex(/^[0-9a-f]{24}$/);

/**
 * What is remembered of a dialogue between checking and writing: no audio, and text only where near-duplicates are
 * looked for. Plain data, so that it can be written to a file and sent between threads.
 */
export const Entry = z.strictObject({
  id: z.string(),
  /** Slug of the role. */
  roleId: z.string(),
  stem: z.string(),
  language: Language,
  kind: DialogueKind,
  pool: z.enum(["train", "test"]),
  place: Place,
  /** Names the dialogue in its file, for a person. */
  label: z.string(),
  contentSha256: Sha256,
  /** Of its text and the stamps of its files: with the same one, it need not be hashed again. */
  fingerprint: ShortDigest.nullable(),
  /** Samples at 16 kHz of all clips, and of the users' alone. */
  samples: count,
  userSamples: count,
  /** Bytes the row takes in a shard, about. */
  bytes: count,
  turns: count,
  /** Whole seconds of each clip. */
  seconds: z.strictObject({ user: z.array(count), role: z.array(count) }),
  /** Each clip of each answer: turn, index of the reference, characters (for pace), milliseconds. */
  spoken: z.array(z.tuple([count, count, count, count])),
  category: z.string().nullable(),
  /** Characters of the system prompt, and of all answers. */
  characters: z.strictObject({ prompt: count, answers: count }),
  /** Per turn: of question and answer, and of the question alone. */
  pairs: z.array(ShortDigest),
  questions: z.array(ShortDigest),
  /** Of the stored samples of each role clip: a header may differ, the voice does not. */
  roleAudio: z.array(ShortDigest),
  /** Answers that stand word for word in the script of the role, or in what the role card quotes of it. */
  copiedAnswers: count,
  clippedClips: count,
  /** Clips that are mostly below -50 dBFS. */
  quietClips: count,
  resampledClips: count,
  promptFromProfile: z.boolean(),
  hasPrompt: z.boolean(),
  /** What near-duplicates are compared by, NFC; null where the spec looks for none. */
  nearText: z.string().nullable(),
});
export type Entry = Readonly<z.infer<typeof Entry>>;

/** A drop that knows what the dialogue was given for. Left out by an older survey: train. */
export const SurveyedDrop = Drop.extend({ pool: z.enum(["train", "test"]).optional() });
export type SurveyedDrop = Readonly<z.infer<typeof SurveyedDrop>>;

/** The drop as a lock keeps it. */
export const lockedDrop = ({ reason, role, dialogue, turn, detail }: Drop): Drop => ({
  reason,
  role,
  dialogue,
  turn,
  detail,
});

/** What reading one unit of the source gave. */
export const UnitSurvey = z.strictObject({ entries: z.array(Entry), drops: z.array(SurveyedDrop) });
export type UnitSurvey = z.infer<typeof UnitSurvey>;

const SHORT_DIGITS = 24;

/** The part of a SHA-256 that an entry keeps: 96 bits tell apart whatever a corpus can hold. */
export const shortDigest = (sha256: string): string => sha256.slice(0, SHORT_DIGITS);
