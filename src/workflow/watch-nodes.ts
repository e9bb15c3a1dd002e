import { z } from "zod";
import type { Run } from "../track/index.ts";
import { attemptsSinceResume } from "./end-attempt.ts";
import type { Shop } from "./shop.ts";

/** Ends that speak against the machine, not against the program. */
const BAD_NODE: ReadonlySet<string> = new Set(["node_check", "node_lost"]);

const Name = z.string().min(1);
const Named = z.object({ observation: z.object({ node: Name }) });
const Unfit = z.object({ observation: z.object({ result: z.object({ host: Name }) }) });

/** Machines on which an attempt failed because of the machine; the next attempt keeps away from them. Sorted. */
export const excludedNodes = (shop: Shop, run: Run): readonly string[] => {
  const bad = attemptsSinceResume(shop, run).filter(({ reason }) => BAD_NODE.has(reason ?? ""));
  const hosts = bad.flatMap(({ evidence }) => nodeOf(evidence) ?? []);
  return [...new Set(hosts)].toSorted();
};

// As the scheduler names it. What the machine calls itself may be another name, and a scheduler refuses a job that excludes
// a machine it does not know: without its own word nothing is excluded. The wrapper is told the scheduler's name.
function nodeOf(evidence: unknown): string | undefined {
  const named = Named.safeParse(evidence);
  return named.success
    ? named.data.observation.node
    : Unfit.safeParse(evidence).data?.observation.result.host;
}
