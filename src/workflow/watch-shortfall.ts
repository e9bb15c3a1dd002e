import { z } from "zod";
import type { Attempt, Lease, Run } from "../track/index.ts";
import { continuationOf } from "./end-attempt.ts";
import type { Shop } from "./shop.ts";

/** Event of a submission that was accepted for less than was planned, e.g. a shorter chain. */
const SHORTFALL = "attempt.shortfall";

const Kept = z.object({ note: z.string() });

/** Keeps what a person should know of a submission for as long as its jobs are those that go on. */
export const keepShortfall = (
  shop: Shop,
  lease: Lease,
  { number }: Attempt,
  note: string | undefined,
): void => {
  if (note !== undefined) shop.store.appendEvent(lease, { type: SHORTFALL, attempt: number, data: { note } });
};

/**
 * What is less than planned of the jobs that a run goes on with; null where nothing is. A chain is one submission, however
 * many attempts the far side makes of it.
 */
export const shortfallOf = (
  shop: Shop,
  { id }: Pick<Run, "id">,
  attempts: readonly Attempt[],
): string | null => {
  const event = shop.store.events(id, { types: [SHORTFALL] }).at(-1);
  const kept = Kept.safeParse(event?.data);
  if (!kept.success || event === undefined) return null;
  const since = attempts.filter(({ number }) => number >= (event.attempt ?? 0));
  const isSame = since.slice(0, -1).every((attempt) => continuationOf(attempt) !== undefined);
  return isSame ? kept.data.note : null;
};
