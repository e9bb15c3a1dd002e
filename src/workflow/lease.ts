import type { Lease } from "../track/index.ts";
import { isOwnerGone } from "../launch/index.ts";
import type { Shop } from "./shop.ts";

/** Longer than any single step of a controller; renewed before each. */
const LEASE_MILLISECONDS = 60_000;

export type Held<Result> =
  | { readonly outcome: "done"; readonly result: Result }
  | { readonly outcome: "held"; readonly owner: string };

/** Runs `work` while holding the run's lease. A dead owner's lease is taken over at once; a live one's is respected. */
export const withLease = async <Result>(
  shop: Shop,
  runId: string,
  work: (lease: Lease) => Promise<Result>,
): Promise<Held<Result>> => {
  const { store, owner } = shop;
  let answer = store.acquireLease(runId, { owner, milliseconds: LEASE_MILLISECONDS });
  if (answer.outcome === "held" && (await isOwnerGone(answer.owner))) {
    answer = store.acquireLease(runId, { owner, milliseconds: LEASE_MILLISECONDS, replacing: answer.owner });
  }
  if (answer.outcome === "held") return { outcome: "held", owner: answer.owner };
  const { lease } = answer;
  try {
    return { outcome: "done", result: await work(lease) };
  } finally {
    store.releaseLease(lease);
  }
};
