import { messageOf } from "../core/errors.ts";
import { advanceRun } from "./advance.ts";
import type { Shop } from "./shop.ts";

const HELD = new Set(["blocked", "waiting"]);

/**
 * After a person has decided about a run: those that wait for it, and those that wait for them, go on, wait again, or say why
 * they do not. What cannot be sent now is left to whoever watches.
 */
export const tellChildren = async (shop: Shop, parent: string): Promise<void> => {
  const children = shop.store
    .watchedRuns()
    .filter(({ state, parentId }) => parentId === parent && HELD.has(state));
  for (const { id } of children) {
    try {
      await advanceRun(shop, id);
    } catch (error) {
      shop.signal.throwIfAborted();
      shop.onProgress({
        type: "note",
        text: `run ${id} waits for somebody who watches: ${messageOf(error)}`,
      });
    }
    await tellChildren(shop, id);
  }
};
