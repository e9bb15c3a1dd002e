import type { Evaluation, MetricName, Verdict } from "./schema.ts";

/** One comparison: the same dialogue spoken by the system under test and by a reference. */
export interface JudgeRequest {
  /** One verdict is given for each, in this order. */
  readonly metrics: readonly MetricName[];
  readonly role: { readonly name: string; readonly language: "en" | "zh"; readonly card: string };
  readonly userTexts: readonly string[];
  /** WAV files in turn order. */
  readonly test: readonly Uint8Array[];
  readonly reference: readonly Uint8Array[];
  /** Which of the two the judge hears first. Scores are un-swapped before they are returned. */
  readonly order: "test-first" | "reference-first";
  /** Ends a call or a wait at once. */
  readonly signal?: AbortSignal | undefined;
}

/**
 * Whoever listens. A judge's own failure is an `unscored` verdict with a reason; only what makes every further call
 * pointless (a refused key, another model than the one asked for) is thrown.
 */
export interface Judge {
  /** What the evaluation records about who judged. */
  readonly identity: Evaluation["judge"];
  judge(request: JudgeRequest): Promise<readonly Verdict[]>;
}

/** The overall score exists only when all eight metrics do: it must not become an overall of seven. */
export const isComplete = (verdicts: readonly Verdict[], metrics: readonly MetricName[]): boolean =>
  metrics.every((metric) =>
    verdicts.some((verdict) => verdict.metric === metric && verdict.status === "scored"),
  );
