import { instanceKey } from "./instance-key.ts";
import type { AnswerRow, Instance, SuiteResult } from "./schema.ts";

/** How an answer can fail. `missing`: no row, no text or no audio · `error`: the payload reports something else. */
export const FAILURE_CLASSES = ["missing", "silent", "cut", "error"] as const;
export type FailureClass = (typeof FAILURE_CLASSES)[number];

/** What would be a failure too but nothing looks for yet. A count of it is unknown, which is not 0. */
export const UNCHECKED_FAILURES = ["wrong_language"] as const;
export type UncheckedFailure = (typeof UNCHECKED_FAILURES)[number];

export interface AnswerFailure {
  readonly instance: Instance;
  readonly class: FailureClass;
  /** In the payload's words where it said any. */
  readonly message: string;
}

// Failure codes of launchers/payload/CONTRACT.md. One that is not here is an error with its own text, never a success.
const CLASSES: Readonly<Record<string, FailureClass>> = {
  TEXT_FAILED: "error",
  EMPTY_TEXT: "missing",
  NO_AUDIO: "missing",
  AUDIO_NOT_FINITE: "error",
  SPEECH_FAILED: "error",
};

/** Where decoding stops whatever is being said: an answer that reaches it was cut. */
export interface AnswerLimits {
  readonly textTokens: number;
  /** Codec tokens divided by their rate of 50 a second. */
  readonly seconds: number;
}

/** What is known of an answer beside its row. */
export interface AnswerContext {
  /** Share of silent frames, where it was measured. */
  readonly silenceShare?: number | null;
  readonly limits?: AnswerLimits | undefined;
}

/**
 * Every failed answer of a system on a suite, in the order of the instances. Failures are the system's own: they are
 * counted and listed and never leave the denominator. A cut answer is known only when the limits are given.
 */
export const failuresOf = (result: SuiteResult, limits?: AnswerLimits): readonly AnswerFailure[] => {
  const answers = new Map(result.answers.map((row) => [instanceKey(row), row]));
  const silence = silenceShares(result);
  return result.expected.flatMap((instance) => {
    const key = instanceKey(instance);
    const failure = failureOf(answers.get(key), { silenceShare: silence.get(key) ?? null, limits });
    return failure === null ? [] : [{ instance, ...failure }];
  });
};

/** The measured share of silence of each answer, by instance key. */
export const silenceShares = (result: Pick<SuiteResult, "measures">): ReadonlyMap<string, number> =>
  new Map(
    result.measures.flatMap((row) =>
      row.measure === "silence_share" && row.value !== null ? [[instanceKey(row), row.value]] : [],
    ),
  );

/** The failure of one answer, or null. `undefined` is an answer that has no row. */
export const failureOf = (
  answer: AnswerRow | undefined,
  context: AnswerContext = {},
): Omit<AnswerFailure, "instance"> | null => {
  if (answer === undefined) return { class: "missing", message: "there is no answer" };
  if (answer.failure !== null) {
    const { code, message } = answer.failure;
    return { class: CLASSES[code] ?? "error", message: message === "" ? code : message };
  }
  if (answer.audio === null) return { class: "missing", message: "the answer has no audio" };
  if (answer.seconds === 0) return { class: "silent", message: "the audio has no length" };
  if (context.silenceShare === 1) return { class: "silent", message: "every frame of the audio is silent" };
  return cutOf(answer, context.limits);
};

// Two codec frames: the vocoder may return a little less than the talker's last code.
const TOLERANCE_SECONDS = 0.04;

function cutOf(
  { textTokens, seconds }: AnswerRow,
  limits: AnswerLimits | undefined,
): Omit<AnswerFailure, "instance"> | null {
  if (limits === undefined) return null;
  if (textTokens >= limits.textTokens)
    return { class: "cut", message: `the text reached its limit of ${limits.textTokens} tokens` };
  if ((seconds ?? 0) >= limits.seconds - TOLERANCE_SECONDS)
    return { class: "cut", message: `the audio reached its limit of ${limits.seconds} s` };
  return null;
}
