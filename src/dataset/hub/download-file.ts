import { open, rename, rm, type FileHandle } from "node:fs/promises";
import type { Hash } from "node:crypto";
import { dirname } from "node:path";
import { messageOf, RemoteError, systemCode, UnderstudyError, UserError } from "../../core/errors.ts";
import { syncFolder } from "../../core/files.ts";
import { authorization } from "./hub-calls.ts";
import { RETRY_POLICY, type HubWorld } from "./hub-world.ts";
import { expectedDigest, hasherFor, type RemoteFile } from "./remote-file.ts";
import { openReply, type OpenReply } from "./retrying-fetch.ts";

export interface Download {
  readonly url: string;
  readonly file: RemoteFile;
  /** Where the complete, verified file appears; `TARGET.part` beside it holds what has come so far. */
  readonly target: string;
  /** Bytes that have come; negative when some have to come again. */
  readonly onBytes?: ((bytes: number) => void) | undefined;
}

/**
 * Downloads one file: goes on where an earlier attempt stopped, compares size and hash with what the Hub says, and only then
 * gives it its name. Wrong content is fetched anew once. RemoteErrors `HUB_FILE_CORRUPT`, `HUB_FILE_INCOMPLETE`; HubFault;
 * UserError `DISK_FULL`.
 */
export const downloadFile = async (download: Download, world: HubWorld): Promise<void> => {
  const { file, target } = download;
  const part = `${target}.part`;
  for (let attempt = 1; ; attempt++) {
    const digest = await fill(part, download, world);
    const expected = expectedDigest(file);
    if (expected === null || digest === expected) break;
    await rm(part, { force: true });
    download.onBytes?.(-file.bytes);
    if (attempt === 2) throw corrupt(file, digest);
  }
  await rename(part, target);
  await syncFolder(dirname(target));
};

// Fills the part to its full size and returns the digest of all of it.
async function fill(part: string, download: Download, world: HubWorld): Promise<string> {
  const file = await open(part, "a+");
  try {
    const filling: Filling = { file, hash: hasherFor(download.file), size: 0, download, world };
    await takeUp(filling);
    await fetchRest(filling);
    await file.sync();
    return filling.hash.digest("hex");
  } catch (error) {
    if (!["ENOSPC", "EDQUOT"].includes(systemCode(error) ?? "")) throw error;
    throw new UserError("DISK_FULL", `No space left while downloading ${download.file.path}`, {
      hint: "free some space and run the same command again: what has come is kept",
      cause: error,
    });
  } finally {
    await file.close();
  }
}

interface Filling {
  readonly file: FileHandle;
  hash: Hash;
  /** Bytes in the part, all of them hashed. */
  size: number;
  readonly download: Download;
  readonly world: HubWorld;
}

// What an earlier attempt left counts, as far as the hash will bear it out.
async function takeUp(filling: Filling): Promise<void> {
  const { size } = await filling.file.stat();
  if (size > filling.download.file.bytes) return startOver(filling);
  for await (const chunk of filling.file.createReadStream({ start: 0, autoClose: false })) {
    if (!(chunk instanceof Uint8Array)) continue;
    count(filling, chunk);
    filling.world.signal?.throwIfAborted();
  }
}

async function startOver(filling: Filling): Promise<void> {
  await filling.file.truncate(0);
  filling.download.onBytes?.(-filling.size);
  filling.size = 0;
  filling.hash = hasherFor(filling.download.file);
}

function count(filling: Filling, chunk: Uint8Array): void {
  filling.hash.update(chunk);
  filling.size += chunk.byteLength;
  filling.download.onBytes?.(chunk.byteLength);
}

const LEAST_PROGRESS = 16 * 1024;

async function fetchRest(filling: Filling): Promise<void> {
  const { world, download } = filling;
  const most = world.policy?.attempts ?? RETRY_POLICY.attempts;
  for (let failures = 0; filling.size < download.file.bytes;) {
    const before = filling.size;
    const why = await fetchSome(filling);
    if (filling.size >= download.file.bytes) return;
    failures = filling.size - before >= LEAST_PROGRESS ? 1 : failures + 1;
    if (failures >= most) throw incomplete(filling, why);
    const milliseconds = Math.min(1000 * 2 ** (failures - 1), 60_000);
    world.onPause?.({ milliseconds, reason: `${download.file.path}: ${why}` });
    await world.clock.sleep(milliseconds, world.signal);
  }
}

// One reply, as far as it comes; returns why it ended.
async function fetchSome(filling: Filling): Promise<string> {
  const { world, download } = filling;
  const headers = {
    // Compressed, neither the range nor the size would be that of the file.
    "accept-encoding": "identity",
    ...(filling.size > 0 ? { range: `bytes=${filling.size}-` } : {}),
    ...authorization(world),
  };
  const reply = await openReply(download.url, headers, world);
  try {
    if (filling.size > 0 && !continuesAt(reply.response, filling.size)) await startOver(filling);
    await append(filling, reply);
    return "the reply was cut";
  } catch (error) {
    world.signal?.throwIfAborted();
    if (error instanceof UnderstudyError || isOfDisk(error)) throw error;
    return reply.watch.stalled() ? "no bytes moved any more" : messageOf(error);
  } finally {
    reply.watch.stop();
    await reply.response.body?.cancel().catch(() => undefined);
  }
}

const isOfDisk = (error: unknown): boolean =>
  ["ENOSPC", "EDQUOT", "EIO", "EROFS"].includes(systemCode(error) ?? "");

function continuesAt({ status, headers }: Response, size: number): boolean {
  return status === 206 && (headers.get("content-range") ?? "").startsWith(`bytes ${size}-`);
}

async function append(filling: Filling, { response, watch }: OpenReply): Promise<void> {
  const { path, bytes } = filling.download.file;
  const reader = response.body?.getReader();
  if (!reader) return;
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      watch.moved(value.byteLength);
      if (filling.size + value.byteLength > bytes) {
        await startOver(filling);
        throw new RemoteError(
          "HUB_FILE_CORRUPT",
          `${path} is longer than the ${bytes} bytes that the Hub says it has`,
        );
      }
      await filling.file.appendFile(value);
      count(filling, value);
    }
  } finally {
    reader.releaseLock();
  }
}

function corrupt({ path, sha256, gitOid }: RemoteFile, found: string): RemoteError {
  const kind = sha256 === null ? "git object id" : "SHA-256";
  return new RemoteError("HUB_FILE_CORRUPT", `${path} came with ${kind} ${found}, not ${sha256 ?? gitOid}`, {
    hint: "run the same command again; if it stays so, the file on the Hub is damaged: push the data set anew",
  });
}

function incomplete({ size, download: { file } }: Filling, why: string): RemoteError {
  return new RemoteError(
    "HUB_FILE_INCOMPLETE",
    `${file.path}: only ${size} of ${file.bytes} bytes came: ${why}`,
    { hint: "run the same command again: it goes on from there" },
  );
}
