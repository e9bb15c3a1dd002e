import { z } from "zod";
import type { Attempt, Run } from "../track/index.ts";
import { attemptsSinceResume } from "./end-attempt.ts";
import type { Shop } from "./shop.ts";

const Name = z.string().min(1);
const Named = z.object({ observation: z.object({ node: Name }) });
const Unfit = z.object({ observation: z.object({ result: z.object({ host: Name }) }) });
const Checked = z.object({
  observation: z.object({ result: z.object({ reason: z.literal("node-check") }) }),
});

/** Machines on which an attempt failed because of the machine; the next attempt keeps away from them. Sorted. */
export const excludedNodes = (shop: Shop, run: Run): readonly string[] => {
  const bad = attemptsSinceResume(shop, run).filter(isAgainstMachine);
  const hosts = bad.flatMap(({ evidence }) => nodeOf(evidence) ?? []);
  return [...new Set(hosts)].toSorted();
};

// A step that fetches weights or data ends with the same code when a hub, a bucket or a shared disk is in trouble: every machine
// would say so, and each of them would be kept away from.
function isAgainstMachine({ reason, evidence }: Attempt): boolean {
  return reason === "node_lost" || (reason === "node_check" && Checked.safeParse(evidence).success);
}

// As the scheduler names it. What the machine calls itself may be another name, and a scheduler refuses a job that excludes
// a machine it does not know: without its own word nothing is excluded. The wrapper is told the scheduler's name.
function nodeOf(evidence: unknown): string | undefined {
  const named = Named.safeParse(evidence);
  return named.success
    ? named.data.observation.node
    : Unfit.safeParse(evidence).data?.observation.result.host;
}
