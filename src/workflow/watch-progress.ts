import { z } from "zod";
import type { Attempt, Run, RunEvent } from "../track/index.ts";
import type { Shop } from "./shop.ts";

/**
 * Whether an attempt has left more to go on from than there was before it. Training: a new complete checkpoint, which the
 * payload tells once it is complete, and never saves again. Other kinds: a task that got further than in any earlier attempt.
 */
export const hasProgress = (shop: Shop, run: Pick<Run, "id" | "kind">, { number }: Attempt): boolean => {
  if (run.kind === "train") {
    return shop.store.events(run.id, { attempt: number, types: ["checkpoint"], limit: 1 }).length > 0;
  }
  const told = shop.store.events(run.id, { types: ["progress"] });
  const before = furthest(told.filter(({ attempt }) => attempt !== null && attempt < number));
  const now = furthest(told.filter(({ attempt }) => attempt === number));
  return [...now].some(([task, done]) => done > (before.get(task) ?? 0));
};

const Told = z.object({ done: z.number(), system: z.string().default(""), suite: z.string().default("") });

/** How far each task got. */
function furthest(events: readonly RunEvent[]): ReadonlyMap<string, number> {
  const best = new Map<string, number>();
  for (const { data } of events) {
    const told = Told.safeParse(data);
    if (!told.success) continue;
    const { done, system, suite } = told.data;
    const task = JSON.stringify([system, suite]);
    best.set(task, Math.max(done, best.get(task) ?? 0));
  }
  return best;
}
