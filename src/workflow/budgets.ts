import { endReason, type Attempt, type RetryBudget } from "../track/index.ts";

/** How many attempts may end for each kind of reason before a person has to look; each is counted by itself. */
export const BUDGETS: Readonly<Record<RetryBudget, number>> = {
  preemption: 50,
  infra: 3,
  timeout: 50,
  capacity: 100,
};

/** True when the attempts that ended on this budget do not exceed it. An end without a budget is never retried. */
export const hasBudget = (attempts: readonly Attempt[], budget: RetryBudget | null): boolean =>
  budget !== null && spent(attempts, budget) <= BUDGETS[budget];

/** Ended attempts that count against a budget. */
export const spent = (attempts: readonly Attempt[], budget: RetryBudget): number =>
  attempts.filter(({ reason }) => reason !== null && endReason(reason).budget === budget).length;
