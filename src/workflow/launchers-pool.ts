import { digestOf } from "../core/hash.ts";
import { openLauncher, type Job, type Launcher } from "../launch/index.ts";
import { launchWorld, payloadHere } from "./launch-world.ts";
import type { Shop } from "./shop.ts";

type Placed = Pick<Job, "profile" | "inputs" | "payload">;

/** Opened launchers of one process: connections and rate limits are shared by all runs of a profile. */
export interface LauncherPool {
  /** The launcher that plans and starts a job: one for each profile and payload. */
  of(job: Job): Promise<Launcher>;
  /** Names the profile of a job: jobs of equal names are looked at together, by any one of their launchers. */
  nameOf(job: Placed): string;
  /** Ends all connections. */
  close(): Promise<void>;
}

/** Launchers are opened on first use; one that cannot be opened is tried anew the next time. */
export const launcherPool = (
  shop: Pick<Shop, "clock" | "environment" | "onProgress"> & Partial<Pick<Shop, "signal">>,
  open: typeof openLauncher = openLauncher,
): LauncherPool => {
  const opened = new Map<string, Promise<Launcher>>();
  return {
    nameOf: ({ profile }) => digestOf(profile),
    of: async (job) => {
      const key = `${digestOf(job.profile)} ${payloadHere(job)}`;
      const present = opened.get(key);
      if (present) return present;
      const opening = open(job.profile, launchWorld(shop, job));
      opened.set(key, opening);
      opening.catch(() => opened.delete(key));
      return opening;
    },
    close: async () => {
      const all = [...opened.values()];
      opened.clear();
      // What cannot be closed was not open, and nobody could do anything about it.
      await Promise.allSettled(all.map(async (opening) => (await opening).close()));
    },
  };
};
