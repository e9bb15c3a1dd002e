import { randomBytes } from "node:crypto";
import { copyFile, mkdir, rename, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { RemoteError } from "../core/errors.ts";
import { exists, syncFolder } from "../core/files.ts";
import { withProcessLock } from "../core/process-lock.ts";
import { payloadDigest, payloadFiles } from "./payload-digest.ts";
import type { Shop } from "./shop.ts";

export interface PayloadSnapshot {
  /** Folder that jobs run from. */
  readonly folder: string;
  readonly digest: string;
}

/**
 * A copy of the payload as it is now, kept under its digest: a run that goes on tomorrow runs the code it began with, and rows
 * are filed under the digest of the code that wrote them, whatever is edited meanwhile. RemoteError `PAYLOAD_MOVED`.
 */
export const snapshotPayload = async (shop: Shop): Promise<PayloadSnapshot> => {
  const digest = await payloadDigest(shop.payload);
  const folder = join(shop.project.state, "payloads", digest.slice(0, 16));
  if (await holds(folder, digest)) return { folder, digest };
  const options = { clock: shop.clock, signal: shop.signal };
  return withProcessLock(`${folder}.lock`, options, async () => {
    if (!(await holds(folder, digest))) await copy(shop.payload, folder, digest);
    return { folder, digest };
  });
};

const holds = async (folder: string, digest: string): Promise<boolean> =>
  (await exists(folder)) && (await payloadDigest(folder)) === digest;

async function copy(payload: string, folder: string, digest: string): Promise<void> {
  const suffix = randomBytes(4).toString("hex");
  const staged = `${folder}.${suffix}.tmp`;
  try {
    for (const path of await payloadFiles(payload)) {
      await mkdir(dirname(join(staged, path)), { recursive: true });
      await copyFile(join(payload, path), join(staged, path));
    }
    if ((await payloadDigest(staged)) !== digest) {
      throw new RemoteError("PAYLOAD_MOVED", `${payload} was changed while it was copied`, {
        hint: "run the same command again when the edit is done",
      });
    }
    // Somebody edited the copy: what a run was made from is not thrown away.
    if (await exists(folder)) await rename(folder, `${folder}.changed-${suffix}`);
    await rename(staged, folder);
    await syncFolder(dirname(folder));
  } finally {
    await rm(staged, { recursive: true, force: true });
  }
}
