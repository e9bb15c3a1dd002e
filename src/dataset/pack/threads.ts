import { existsSync } from "node:fs";
import type { Threads } from "./crew.ts";

/** Threads for a pack; undefined (this thread alone) for fewer than two, and where the program runs from its sources. */
export const packThreads = (count: number): Threads | undefined => {
  const module = new URL("worker.js", import.meta.url);
  return count < 2 || !existsSync(module) ? undefined : { count, module };
};
