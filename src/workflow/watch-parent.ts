import { TERMINAL_STATES, type Lease, type Run, type RunHead } from "../track/index.ts";
import { move } from "./move.ts";
import type { Shop } from "./shop.ts";

/** What the run that a child waits for allows it: to go, to wait, or nothing any more. */
export type Gate =
  | { readonly gate: "open" }
  | { readonly gate: "waits"; readonly reason: string }
  | { readonly gate: "closed"; readonly reason: string };

/**
 * A child waits for its parent's success, which needs the parent's proof: never for the end of one of its jobs. A parent
 * that ended short closes the gate until it is resumed.
 */
export const gateOf = (shop: Shop, { parentId }: Pick<RunHead, "parentId">): Gate => {
  if (parentId === null) return { gate: "open" };
  const parent = shop.store.findRun(parentId);
  if (parent === undefined)
    return { gate: "closed", reason: `there is no run ${parentId}, which it waits for` };
  if (parent.state === "succeeded") return { gate: "open" };
  return TERMINAL_STATES.includes(parent.state)
    ? { gate: "closed", reason: `run ${parentId}, which it waits for, is ${parent.state}: ${parent.reason}` }
    : { gate: "waits", reason: `waits for run ${parentId} to succeed; that one is ${parent.state}` };
};

/** Moves a run that has not been sent as its gate says; undefined when the gate is open. */
export const heldByParent = (shop: Shop, lease: Lease, run: Run): Run | undefined => {
  const gate = gateOf(shop, run);
  if (gate.gate === "open") return undefined;
  const planned = run.state === "draft" ? move(shop, lease, run, { to: "packaged", reason: "planned" }) : run;
  if (gate.gate === "waits") return move(shop, lease, planned, { to: "waiting", reason: gate.reason });
  return move(shop, lease, planned, { to: "blocked", reason: gate.reason });
};
