import type { Lease, Run, RunState } from "../track/index.ts";
import type { Shop } from "./shop.ts";

/** A guarded transition; nothing is written when neither state nor words change. */
export const move = (
  shop: Shop,
  lease: Lease,
  run: Run,
  change: { readonly to: RunState; readonly reason: string },
): Run =>
  run.state === change.to && run.reason === change.reason
    ? run
    : shop.store.transition(lease, { from: run.state, ...change });
