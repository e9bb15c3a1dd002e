import { mkdir, open, rename, rm, stat } from "node:fs/promises";
import { dirname } from "node:path";
import { RemoteError, systemCode } from "../../core/errors.ts";
import { syncFolder } from "../../core/files.ts";
import { sha256File } from "../../core/hash.ts";
import { digestFar, sizeFar } from "./far-files.ts";
import { deadlineFor, farScript } from "./far-script.ts";
import { must } from "./must.ts";
import type { Transport } from "./transport.ts";

const PIECE = 256 * 1024 * 1024;

/**
 * Copies a far file to `to`: into `to.part`, going on where an earlier copy stopped, verified by its digest there, fsynced,
 * renamed. RemoteErrors `ARTIFACT_MISSING`, `DOWNLOAD_DIFFERS`, `TRANSPORT_…`.
 */
export const downloadFar = async (
  transport: Transport,
  path: string,
  to: string,
  options: { readonly signal?: AbortSignal } = {},
): Promise<void> => {
  await mkdir(dirname(to), { recursive: true });
  const part = `${to}.part`;
  const digest = await digestFar(transport, path);
  // A part may be of an older file of that name: then it is fetched anew, once.
  for (let attempt = 1; attempt <= 2; attempt += 1) {
    await fetchRest(transport, { path, part }, options.signal);
    if ((await sha256File(part)) === digest) {
      await rename(part, to);
      await syncFolder(dirname(to));
      return;
    }
    await rm(part, { force: true });
  }
  throw new RemoteError("DOWNLOAD_DIFFERS", `${path} changed while it was copied, or arrives damaged`, {
    hint: "try again when nothing writes to it any more",
  });
};

async function fetchRest(
  transport: Transport,
  { path, part }: { readonly path: string; readonly part: string },
  signal: AbortSignal | undefined,
): Promise<void> {
  const size = (await sizeFar(transport, path)) ?? 0;
  const file = await open(part, "a");
  try {
    const progress = { offset: await partSize(part) };
    for (let before = -1; progress.offset < size && progress.offset > before;) {
      before = progress.offset;
      const length = Math.min(PIECE, size - before);
      const outcome = await farScript(transport, PIECE_OF, [path, String(before + 1), String(length)], {
        deadline: deadlineFor(length),
        ...(signal ? { signal } : {}),
        onStdout: async (chunk) => {
          await file.appendFile(chunk);
          progress.offset += chunk.length;
        },
      });
      must(outcome, `copy ${path}`);
    }
    await file.sync();
  } finally {
    await file.close();
  }
}

const PIECE_OF = `exec < "$1"
tail -c "+$2" | head -c "$3"`;

async function partSize(part: string): Promise<number> {
  try {
    return (await stat(part)).size;
  } catch (error) {
    if (systemCode(error) === "ENOENT") return 0;
    throw error;
  }
}
