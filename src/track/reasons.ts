import { z } from "zod";
import type { Attempt, RunState } from "./schema.ts";

/** What may follow an ended attempt: nothing; a new attempt from the last checkpoint; the same again after a while. */
export type RetryClass = "none" | "resume" | "wait";

/** What a retry is counted against, so that preemptions do not eat up what is meant for failures. */
export type RetryBudget = "preemption" | "infra" | "timeout" | "capacity";

export interface EndReason {
  /** The run's state when the attempt is not followed by another. */
  readonly status: RunState;
  readonly retry: RetryClass;
  readonly budget: RetryBudget | null;
  /** For people. */
  readonly sentence: string;
}

const final = (status: RunState, sentence: string): EndReason => ({
  status,
  retry: "none",
  budget: null,
  sentence,
});
const again = (retry: "resume" | "wait", budget: RetryBudget, sentence: string): EndReason => ({
  status: "failed",
  retry,
  budget,
  sentence,
});

/** THE table: how an attempt ended → what becomes of the run. Launchers map their own words to these names. */
export const END_REASONS = {
  succeeded: final("succeeded", "everything planned is done and proven"),
  no_proof: final(
    "failed",
    "the program ended with exit code 0, but what it should have written is not all there",
  ),
  config_error: final("failed", "the manifest or the data is wrong"),
  out_of_memory: final("failed", "the memory was not enough"),
  crashed: final("failed", "the program failed"),
  rejected: final("failed", "the job was not accepted"),
  cancelled: final("cancelled", "stopped on request"),
  cancelled_by_other: final("cancelled", "stopped by somebody else, or outside of this program"),
  stopped: again("resume", "preemption", "the machine asked it to stop, and it has saved"),
  preempted: again("resume", "preemption", "the machine was given to another job"),
  killed: again("resume", "infra", "the program was killed"),
  node_lost: again("resume", "infra", "killed without a trace: the machine or the supervisor is gone"),
  node_check: again("wait", "infra", "the machine was not fit for the job"),
  not_started: again("wait", "infra", "it ended before the program had begun"),
  no_capacity: again("wait", "capacity", "no machine was free"),
  unreachable: again("wait", "capacity", "the machine could not be reached to start it"),
  walltime: {
    ...again("resume", "timeout", "the time limit was reached after new progress"),
    status: "timed_out",
  },
  walltime_no_progress: final("timed_out", "the time limit was reached without a new checkpoint"),
  fenced: final("lost", "a newer attempt of this run had taken its place, so it wrote nothing more"),
  evidence_missing: final("lost", "no trace of the job was found in time: a person has to decide"),
  result_missing: final(
    "lost",
    "its job is known and has ended, but the proof of how it ended did not come in time: a person has to decide",
  ),
  unknown: final("lost", "it ended in a way that is not understood: a person has to decide"),
  settled_failed: final("failed", "settled by hand as failed"),
  settled_cancelled: final("cancelled", "settled by hand as cancelled"),
  settled_lost: final("lost", "settled by hand as lost"),
} as const satisfies Readonly<Record<string, EndReason>>;

export type EndReasonName = keyof typeof END_REASONS;

export const isEndReason = (word: string): word is EndReasonName => Object.hasOwn(END_REASONS, word);

/** The row of a reason; a word that is not in the table is `unknown`, never success. */
export const endReason = (word: string): EndReason =>
  isEndReason(word) ? END_REASONS[word] : END_REASONS.unknown;

const Settled = z.object({ detail: z.string().startsWith("settled by hand as ") });

/** How an attempt ended, for people; what a person has decided stands with their reason. Null while it lives. */
export const endWords = ({ reason, evidence }: Pick<Attempt, "reason" | "evidence">): string | null => {
  if (reason === null) return null;
  const settled = Settled.safeParse(evidence);
  return settled.success ? settled.data.detail : endReason(reason).sentence;
};
