import { z } from "zod";
import type { Attempt, Run } from "../track/index.ts";
import { attemptsSinceResume } from "./end-attempt.ts";
import type { Shop } from "./shop.ts";

/** Ends that speak against the machine, not against the program. */
const BAD_NODE: ReadonlySet<string> = new Set(["node_check", "node_lost"]);

const Seen = z.object({ observation: z.object({ result: z.object({ host: z.string().min(1) }) }) });
const Started = z.object({ host: z.string().min(1) });

/** Machines on which an attempt failed because of the machine; the next attempt keeps away from them. Sorted. */
export const excludedNodes = (shop: Shop, run: Run): readonly string[] => {
  const bad = attemptsSinceResume(shop, run).filter(({ reason }) => BAD_NODE.has(reason ?? ""));
  const hosts = bad.flatMap((attempt) => hostOf(shop, attempt) ?? []);
  return [...new Set(hosts)].toSorted();
};

function hostOf(shop: Shop, attempt: Attempt): string | undefined {
  const seen = Seen.safeParse(attempt.evidence);
  if (seen.success) return seen.data.observation.result.host;
  // A lost machine writes no result, but the program has said where it began.
  const [event] = shop.store.events(attempt.runId, { attempt: attempt.number, types: ["started"], limit: 1 });
  return Started.safeParse(event?.data).data?.host;
}
