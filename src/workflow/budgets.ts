import { endReason, type Attempt, type RetryBudget, type RetryClass } from "../track/index.ts";
import { backoff } from "./watch-pace.ts";

const DAY = 86_400_000;

/** What may be spent before a person has to look, each kind by itself: attempts, or time that a machine is waited for. */
export const BUDGETS = {
  preemption: 50,
  infra: 3,
  timeout: 50,
} as const satisfies Readonly<Partial<Record<RetryBudget, number>>>;

/** How long a run waits for a free machine, from the first refusal of an unbroken row on. */
export const CAPACITY_DAYS = 7;

/** One budget of a run, for people. */
export interface BudgetState {
  readonly budget: RetryBudget;
  readonly spent: number;
  readonly allowed: number;
  readonly unit: "attempts" | "days";
}

/** True when another attempt may follow those that ended on this budget. An end without a budget is never retried. */
export const hasBudget = (attempts: readonly Attempt[], budget: RetryBudget | null, now: number): boolean => {
  if (budget === null) return false;
  const { spent, allowed } = budgetState(attempts, budget, now);
  return spent <= allowed;
};

/** What is spent of a budget: the attempts that ended on it, or the days since the first refusal of the newest row. */
export const budgetState = (attempts: readonly Attempt[], budget: RetryBudget, now: number): BudgetState => {
  if (budget === "capacity") {
    const since = waitingSince(attempts);
    const spent = since === undefined ? 0 : Math.max(0, now - since) / DAY;
    return { budget, spent, allowed: CAPACITY_DAYS, unit: "days" };
  }
  return { budget, spent: endedOn(attempts, budget).length, allowed: BUDGETS[budget], unit: "attempts" };
};

const ALL: readonly RetryBudget[] = ["preemption", "infra", "timeout", "capacity"];

/** All budgets of a run. */
export const budgetStates = (attempts: readonly Attempt[], now: number): readonly BudgetState[] =>
  ALL.map((budget) => budgetState(attempts, budget, now));

function endedOn(attempts: readonly Attempt[], budget: RetryBudget): readonly Attempt[] {
  return attempts.filter(({ reason }) => reason !== null && endReason(reason).budget === budget);
}

// The newest attempts that all ended for want of a machine.
function newestRow(attempts: readonly Attempt[]): readonly Attempt[] {
  const ended = attempts.filter(({ endedAt }) => endedAt !== null);
  const last = ended.findLastIndex(({ reason }) => endReason(reason ?? "").budget !== "capacity");
  return ended.slice(last + 1);
}

function waitingSince(attempts: readonly Attempt[]): number | undefined {
  const [first] = newestRow(attempts);
  return first === undefined ? undefined : Date.parse(first.startedAt);
}

const FIRST_WAIT = 60_000;
const LONGEST_WAIT = 900_000;

/**
 * When the next attempt may begin after one that ended with `wait` (milliseconds since the epoch); null where nothing has
 * to be waited for. The wait grows with every such end in a row: a machine that was unfit a second ago still is.
 */
export const nextAttemptAt = (attempts: readonly Attempt[]): number | null => {
  const last = attempts.at(-1);
  if (last === undefined || last.endedAt === null || retryOf(last) !== "wait") return null;
  const tries = attempts.length - 1 - attempts.findLastIndex((attempt) => retryOf(attempt) !== "wait");
  const wait = backoff({ first: FIRST_WAIT, longest: LONGEST_WAIT, tries, key: last.marker });
  return Date.parse(last.endedAt) + wait;
};

const retryOf = ({ reason }: Attempt): RetryClass | null =>
  reason === null ? null : endReason(reason).retry;

/** When a refused job is sent again: 30 s after the first refusal, at last every 15 minutes. */
export const nextTryAt = (now: number, tries: number, key: string): number =>
  now + backoff({ first: FIRST_WAIT / 2, longest: LONGEST_WAIT, tries, key });
