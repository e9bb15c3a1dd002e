import type { Clock } from "../core/clock.ts";
import { RemoteError } from "../core/errors.ts";
import type { Lease, Store } from "../track/index.ts";
import { isOwnerGone } from "../core/process-owner.ts";
import type { Shop } from "./shop.ts";

const LEASE_MILLISECONDS = 60_000;
// Hashing a large checkpoint takes minutes: as long as this process works, its lease does not run out.
const RENEWAL_MILLISECONDS = 20_000;

type Leases = Pick<Store, "acquireLease" | "renewLease" | "releaseLease">;

export type Held<Result> =
  | { readonly outcome: "done"; readonly result: Result }
  | { readonly outcome: "held"; readonly owner: string };

/**
 * Runs `work` while holding the run's lease. A dead owner's lease is taken over at once; a live one's is respected. `held`
 * also when another took the run over meanwhile (this machine slept): what was not written yet is not written.
 */
export const withLease = async <Result>(
  shop: Pick<Shop, "owner" | "clock"> & { readonly store: Leases },
  runId: string,
  work: (lease: Lease) => Promise<Result>,
): Promise<Held<Result>> => {
  const { store, owner, clock } = shop;
  let answer = store.acquireLease(runId, { owner, milliseconds: LEASE_MILLISECONDS });
  if (answer.outcome === "held" && (await isOwnerGone(answer.owner))) {
    answer = store.acquireLease(runId, { owner, milliseconds: LEASE_MILLISECONDS, replacing: answer.owner });
  }
  if (answer.outcome === "held") return { outcome: "held", owner: answer.owner };
  const { lease } = answer;
  const working = new AbortController();
  const renewing = keepAlive(store, clock, lease, working.signal);
  try {
    return { outcome: "done", result: await work(lease) };
  } catch (error) {
    if (error instanceof RemoteError && error.code === "LEASE_LOST") {
      return { outcome: "held", owner: "another controller" };
    }
    throw error;
  } finally {
    working.abort();
    await renewing;
    store.releaseLease(lease);
  }
};

async function keepAlive(store: Leases, clock: Clock, lease: Lease, working: AbortSignal): Promise<void> {
  for (;;) {
    try {
      await clock.sleep(RENEWAL_MILLISECONDS, working);
      store.renewLease(lease, LEASE_MILLISECONDS);
    } catch (error) {
      // The work is done, or the lease is lost: then its own next write says so. A busy store is asked again.
      if (working.aborted || (error instanceof RemoteError && error.code === "LEASE_LOST")) return;
    }
  }
}
