import { join } from "node:path";
import type { Clock } from "../core/clock.ts";
import { prepareState, type Project } from "../core/project.ts";
import { processOwner } from "../core/process-owner.ts";
import { openStore, type Store } from "../track/index.ts";
import { launcherPool, type LauncherPool } from "./launchers-pool.ts";
import { openMirror, type Mirror } from "./mirror.ts";
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
  /** Runs whose checkpoints this process has looked for. */
  readonly collected: Set<string>;
  /** Opened launchers, one for each profile. */
  readonly launchers: LauncherPool;
  /** Folder of the Python payload. */
  readonly payload: string;
  /** Names this process for leases: host, pid, start time and boot. */
  readonly owner: string;
  /** Copies runs to MLflow beside the work; undefined where none is configured. */
  readonly mirror?: Mirror | undefined;
}

export interface ShopRequest {
  readonly project: Project;
  readonly clock: Clock;
  readonly environment: Shop["environment"];
  readonly signal: AbortSignal;
  readonly onProgress?: OnProgress;
  /** How MLflow is reached; without it nothing is copied there. */
  readonly fetch?: typeof fetch | undefined;
}

/** Runs `work` with the project's store open, then closes it and all launchers. Refuses a state folder on a network filesystem. */
export const withShop = async <Result>(
  request: ShopRequest,
  work: (shop: Shop) => Promise<Result>,
): Promise<Result> => {
  const { project, clock } = request;
  await prepareState(project);
  const onProgress = request.onProgress ?? ((): void => {});
  const store = openStore(join(project.state, "state.sqlite"), clock);
  const launchers = launcherPool({ ...request, onProgress });
  const owner = await processOwner();
  const { fetch } = request;
  const mirror = fetch && (await openMirror({ ...request, fetch, store, owner, onProgress }));
  try {
    return await work({
      ...request,
      store,
      onProgress,
      unsound: new Set(),
      collected: new Set(),
      launchers,
      payload: join(project.launchers, "payload"),
      owner,
      mirror,
    });
  } finally {
    await launchers.close();
    await mirror?.close();
    store.close();
  }
};
