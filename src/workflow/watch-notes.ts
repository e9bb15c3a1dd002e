import { z } from "zod";
import type { Attempt, Lease } from "../track/index.ts";
import type { Shop } from "./shop.ts";

/** Milliseconds since the epoch. */
const Time = z.number();

/** What a watcher has to remember of an attempt that has not ended. It lies with the attempt, so any watcher goes on with it. */
export const Notes = z.looseObject({
  /** Not listed in a query that worked, since then. */
  absentSince: Time.optional(),
  /** Seen to have ended, but what it should have left was not all there. */
  endedSince: Time.optional(),
  /** Its marker was looked for and nobody had it, since then. */
  unclaimedSince: Time.optional(),
  /** Why it is not known whether its job exists, when its machine was asked last. */
  unanswered: z.string().optional(),
  /** The stop was passed on to its jobs. */
  cancelSent: z.boolean().optional(),
  /** They were told to end without waiting for a save. */
  endSent: z.boolean().optional(),
  /** Certainly not accepted, to be tried again. */
  refused: z
    .object({
      since: Time,
      tries: z.int().positive(),
      nextAt: Time,
      why: z.enum(["no_capacity", "unreachable"]),
      reason: z.string(),
      /** It was sent again since, and no answer has been recorded. */
      sentAgain: z.boolean(),
    })
    .optional(),
});
export type Notes = z.infer<typeof Notes>;

export const notesOf = ({ evidence }: Pick<Attempt, "evidence">): Notes => {
  const parsed = Notes.safeParse(evidence);
  return parsed.success ? parsed.data : {};
};

/** Changes some notes of an open attempt; `undefined` takes one away. Nothing is written when nothing changes. */
export const note = (
  shop: Shop,
  lease: Lease,
  attempt: Attempt,
  change: { readonly [Name in keyof Notes]?: Notes[Name] | undefined },
): Attempt => {
  const before = notesOf(attempt);
  const entries = Object.entries({ ...before, ...change }).filter(([, value]) => value !== undefined);
  const isSame = JSON.stringify(Object.fromEntries(entries)) === JSON.stringify(before);
  if (isSame) return attempt;
  const evidence = entries.length === 0 ? null : Object.fromEntries(entries);
  return shop.store.updateAttempt(lease, attempt.number, { evidence });
};
