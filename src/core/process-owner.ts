import { hostname } from "node:os";
import { pid } from "node:process";
import { bootId, isForeign, isRunning, pidNamespace, processStatus } from "./process-identity.ts";

/** Names this process for a lease: `host|boot|pid|start time|pid namespace`. */
export const processOwner = async (): Promise<string> =>
  [
    hostname(),
    await bootId(),
    pid,
    (await processStatus(pid))?.startTime ?? "",
    (await pidNamespace()) ?? "",
  ].join("|");

/**
 * True only when the owner is known to be gone: a process of this machine that no longer runs, or of an earlier boot of it.
 * False for another machine's, for one of another pid namespace, and for anything that is not understood.
 */
export const isOwnerGone = async (owner: string): Promise<boolean> => {
  const [host, boot, number, startTime, namespace] = owner.split("|");
  const ownerPid = Number(number);
  if (host !== hostname() || !Number.isInteger(ownerPid) || ownerPid <= 0 || !startTime) return false;
  if (boot !== (await bootId())) return true;
  // Written before namespaces were.
  if (namespace && (await isForeign(namespace))) return false;
  return !(await isRunning({ pid: ownerPid, startTime }));
};
