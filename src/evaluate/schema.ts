import { z } from "zod";

/** One role turn of one dialogue: what is scored, answered and measured. */
export const Instance = z.object({
  dialogue: z.string(),
  role: z.string(),
  language: z.enum(["en", "zh"]),
  kind: z.enum(["single", "multi"]),
  turn: z.int().nonnegative(),
});
export type Instance = z.infer<typeof Instance>;

/** Teacher-forced negative log-likelihood of the reference role text. */
export const ScoreRow = Instance.extend({
  tokens: z.int().positive(),
  /** Nats, summed over the tokens of this turn. */
  nll: z.number().nonnegative(),
}).strict();
export type ScoreRow = z.infer<typeof ScoreRow>;

export const AnswerRow = Instance.extend({
  text: z.string(),
  /** Relative to the task folder; null when there is no audio. */
  audio: z.string().nullable(),
  sha256: z.string().nullable(),
  seconds: z.number().nullable(),
  textTokens: z.int().nonnegative(),
  latencySeconds: z.number().nonnegative(),
  failure: z.object({ code: z.string(), message: z.string() }).nullable(),
}).strict();
export type AnswerRow = z.infer<typeof AnswerRow>;

/** A named quantity with a unit. Never a verdict. */
export const MeasureRow = Instance.extend({
  measure: z.string(),
  value: z.number().nullable(),
  unit: z.string(),
  reason: z.string().nullable(),
}).strict();
export type MeasureRow = z.infer<typeof MeasureRow>;

/** The eight metrics of SpeechRole-Eval, in file order of the published results. */
export const METRICS = [
  "instruction_adherence",
  "speech_fluency",
  "conversational_coherence",
  "speech_naturalness",
  "prosodic_consistency",
  "emotion_appropriateness",
  "personality_consistency",
  "knowledge_consistency",
] as const;
export const MetricName = z.enum(METRICS);
export type MetricName = z.infer<typeof MetricName>;

export const Verdict = z.discriminatedUnion("status", [
  z.strictObject({
    status: z.literal("scored"),
    metric: MetricName,
    /** 1–10 each; `reference` is the reference system's score of the same call. */
    scores: z.strictObject({ test: z.number().min(1).max(10), reference: z.number().min(1).max(10) }),
    rationale: z.string(),
    raw: z.string(),
  }),
  z.strictObject({
    status: z.literal("unscored"),
    metric: MetricName,
    /** no_judge, unreadable, out_of_range, missing_metric, blocked, failed … */
    reason: z.string(),
    raw: z.string().nullable(),
  }),
]);
export type Verdict = z.infer<typeof Verdict>;

export const SUITES = ["test/seen", "test/unseen"] as const;
export type SuiteId = (typeof SUITES)[number];

/** Which roles a suite holds, for the checkpoints whose training roles are given. */
export interface Suite {
  readonly id: SuiteId;
  readonly roles: readonly string[];
}

/** What answers: a model state with its speaker policy. Two names for the same state are two systems with equal digests. */
export interface System {
  readonly id: string;
  /** In words: `base model`, `lowest dev loss (step 40)`. */
  readonly label: string;
  readonly step: number | null;
  /** Folder of the checkpoint; null for the base model. */
  readonly checkpoint: string | null;
  readonly weightsDigest: string;
  readonly speaker: "Chelsie" | "Ethan";
}

/** Everything known of one system on one suite. */
export interface SuiteResult {
  readonly system: string;
  readonly suite: SuiteId;
  /** All role turns of the suite: nothing is ever left out of the denominator. */
  readonly expected: readonly Instance[];
  readonly scores: readonly ScoreRow[];
  readonly answers: readonly AnswerRow[];
  readonly measures: readonly MeasureRow[];
  /** Absolute folder of the answers, for their audio. */
  readonly answersFolder: string;
}

/**
 * One verdict with what it is about: the whole dialogue `dialogue` as `system` spoke it on `suite`, heard against
 * `reference` in one of the two orders. Scores are un-swapped: `test` is always the system's.
 */
export interface JudgedVerdict {
  readonly system: string;
  readonly suite: SuiteId;
  readonly dialogue: string;
  readonly reference: string;
  readonly order: "test-first" | "reference-first";
  readonly verdict: Verdict;
}

/** The rows a report is made from. */
export interface Evaluation {
  readonly id: string;
  readonly systems: readonly System[];
  readonly results: readonly SuiteResult[];
  readonly judge:
    | { readonly status: "none"; readonly reason: string }
    | { readonly status: "used"; readonly model: string };
  /** Everything that was judged, scored or not, of all systems by the one judge; absent where nobody judged. */
  readonly verdicts?: readonly JudgedVerdict[];
}
