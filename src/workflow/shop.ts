import { join } from "node:path";
import type { Clock } from "../core/clock.ts";
import { prepareState, type Project } from "../core/project.ts";
import { processOwner } from "../launch/index.ts";
import { openStore, type Store } from "../track/index.ts";
import type { OnProgress } from "./progress.ts";

/** Everything a workflow works with. */
export interface Shop {
  readonly project: Project;
  readonly store: Store;
  readonly clock: Clock;
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly signal: AbortSignal;
  readonly onProgress: OnProgress;
  /** Checkpoints found broken by this process, so that each is hashed and told once. */
  readonly unsound: Set<string>;
  /** Folder of the Python payload. */
  readonly payload: string;
  /** Names this process for leases: host, pid, start time and boot. */
  readonly owner: string;
}

export interface ShopRequest {
  readonly project: Project;
  readonly clock: Clock;
  readonly environment: Shop["environment"];
  readonly signal: AbortSignal;
  readonly onProgress?: OnProgress;
}

/** Runs `work` with the project's store open, and closes it. Refuses a state folder on a network filesystem. */
export const withShop = async <Result>(
  request: ShopRequest,
  work: (shop: Shop) => Promise<Result>,
): Promise<Result> => {
  const { project, clock } = request;
  await prepareState(project);
  const store = openStore(join(project.state, "state.sqlite"), clock);
  try {
    return await work({
      ...request,
      store,
      onProgress: request.onProgress ?? (() => {}),
      unsound: new Set(),
      payload: join(project.launchers, "payload"),
      owner: await processOwner(),
    });
  } finally {
    store.close();
  }
};
