import type { Run } from "../track/index.ts";
import { withLease } from "./lease.ts";
import type { Shop } from "./shop.ts";
import { openAttempt } from "./submit.ts";
import { note, notesOf } from "./watch-notes.ts";

/**
 * Lets a job that was certainly not accepted be sent again at once: its wait only spares the far side. False where no such
 * wait goes on; that before another attempt is kept, because each attempt is counted.
 */
export const hasten = async (shop: Shop, { id, state }: Pick<Run, "id" | "state">): Promise<boolean> => {
  if (state !== "waiting") return false;
  const held = await withLease(shop, id, async (lease) => {
    const attempt = openAttempt(shop, { id });
    const refused = attempt && notesOf(attempt).refused;
    if (attempt === undefined || refused === undefined || refused.sentAgain) return false;
    const nextAt = Math.min(refused.nextAt, shop.clock.now());
    note(shop, lease, attempt, { refused: { ...refused, nextAt } });
    return true;
  });
  return held.outcome === "done" && held.result;
};
