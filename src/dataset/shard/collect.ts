import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { z } from "zod";

// Clips lie outside the heap, which stays small, so that left to itself the engine lets a hundred megabytes of them wait
// in every thread before it looks for what nobody needs any more.
const MOST_WAITING = 1_500_000;

/** Counts bytes that a thread has finished with, and has them given back before they are many. */
export interface Collector {
  /** So many bytes were needed for a moment only. */
  passed(bytes: number): void;
  /** Before something large begins: gives back all that is not needed any more. Takes as long as the heap is large. */
  everything(): void;
}

export const openCollector = (): Collector => {
  const collect = collectGarbage();
  let waiting = 0;
  return {
    passed: (bytes) => {
      waiting += bytes;
      if (waiting < MOST_WAITING) return;
      waiting = 0;
      collect?.({ type: "minor" });
    },
    everything: () => collect?.(),
  };
};

type Collect = (options?: { readonly type: "minor" }) => void;
const Collect = z.custom<Collect>((value) => typeof value === "function");

// The engine has a function for it, which a program must ask for. Where it has none, memory is as it is.
function collectGarbage(): Collect | undefined {
  setFlagsFromString("--expose-gc");
  // Giving back is otherwise another thread's work, which comes late on a busy machine.
  setFlagsFromString("--no-concurrent-array-buffer-sweeping");
  const found: unknown = runInNewContext("globalThis.gc");
  return Collect.safeParse(found).data;
}
