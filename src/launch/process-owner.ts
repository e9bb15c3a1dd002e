import { hostname } from "node:os";
import { pid } from "node:process";
import { bootId, isRunning, processStatus } from "./process-identity.ts";

/** Names this process for a lease: `host|boot|pid|start time`. */
export const processOwner = async (): Promise<string> =>
  [hostname(), await bootId(), pid, (await processStatus(pid))?.startTime ?? ""].join("|");

/**
 * True only when the owner is known to be gone: a process of this machine that no longer runs, or of an earlier boot of it.
 * False for another machine's, and for anything that is not understood.
 */
export const isOwnerGone = async (owner: string): Promise<boolean> => {
  const [host, boot, number, startTime] = owner.split("|");
  const ownerPid = Number(number);
  if (host !== hostname() || !Number.isInteger(ownerPid) || ownerPid <= 0 || !startTime) return false;
  return boot !== (await bootId()) || !(await isRunning({ pid: ownerPid, startTime }));
};
