import { mkdir, open, rename, rm } from "node:fs/promises";
import { dirname } from "node:path";
import { exists, syncFolder } from "../../core/files.ts";
import { downloadFar } from "./download.ts";
import { deadlineFor, farScript, NOT_THERE } from "./far-script.ts";
import { must } from "./must.ts";
import { packReader, type PackedFile } from "./pack-reader.ts";
import { missingFar } from "./far-files.ts";
import type { Transport } from "./transport.ts";

/** A far file, its size as a listing told it, and its place here. */
export interface WantedFile {
  readonly path: string;
  readonly bytes: number;
  readonly to: string;
}

export interface DownloadManyOptions {
  readonly signal?: AbortSignal;
  /** Called after each file that is here, of those that were asked for. */
  readonly onFile?: (done: number) => void;
}

// From here on a file is worth an exchange of its own, and going on where it stopped.
const SMALL = 4 * 1024 * 1024;
const LARGEST_PACK = 64 * 1024 * 1024;
// Far below what one argument list may hold.
const MOST_FILES = 256;

/**
 * Copies many far files: small ones together in one exchange, whose bytes go to the disk as they come, each verified by its digest
 * there, fsynced and renamed; large ones one by one. A `to` that exists is taken for the file: it got its name when it was whole. What
 * has arrived before an interruption stays. RemoteErrors `ARTIFACT_MISSING`, `DOWNLOAD_DIFFERS`, `TRANSPORT_…`.
 */
export const downloadManyFar = async (
  transport: Transport,
  files: readonly WantedFile[],
  { signal, onFile }: DownloadManyOptions = {},
): Promise<void> => {
  const given = signal ? { signal } : {};
  let done = 0;
  const count = (more: number): void => {
    for (let index = 0; index < more; index += 1) onFile?.((done += 1));
  };
  const here = await Promise.all(files.map(async ({ to }) => exists(to)));
  const missing = files.filter((_, index) => here[index] !== true);
  count(files.length - missing.length);
  for (const pack of packsOf(missing.filter(({ bytes }) => bytes < SMALL))) {
    signal?.throwIfAborted();
    const { damaged } = await fetchPack(transport, pack, given);
    count(pack.length - damaged.length);
    // Changed while it was read, or grown since it was listed: by itself it is asked for again.
    for (const { path, to } of damaged) {
      await downloadFar(transport, path, to, given);
      count(1);
    }
  }
  for (const { path, to } of missing.filter(({ bytes }) => bytes >= SMALL)) {
    await downloadFar(transport, path, to, given);
    count(1);
  }
};

function packsOf(files: readonly WantedFile[]): readonly (readonly WantedFile[])[] {
  const packs: WantedFile[][] = [];
  let bytes = 0;
  for (const file of files) {
    const last = packs.at(-1);
    if (last === undefined || bytes + file.bytes > LARGEST_PACK || last.length === MOST_FILES) {
      packs.push([file]);
      bytes = 0;
    } else last.push(file);
    bytes += file.bytes;
  }
  return packs;
}

/** One exchange. Files that arrived whole get their names even when the exchange breaks off. */
async function fetchPack(
  transport: Transport,
  pack: readonly WantedFile[],
  given: { readonly signal?: AbortSignal },
): Promise<{ readonly damaged: readonly WantedFile[] }> {
  for (const folder of new Set(pack.map(({ to }) => dirname(to)))) await mkdir(folder, { recursive: true });
  const reader = packReader(pack.map(({ to }) => `${to}.part`));
  try {
    const bytes = pack.reduce((sum, file) => sum + file.bytes, 0);
    const outcome = await farScript(
      transport,
      SEND_PACK,
      pack.map(({ path }) => path),
      {
        ...given,
        deadline: deadlineFor(bytes),
        onStdout: async (chunk) => reader.take(chunk),
      },
    );
    if (outcome.kind === "exited" && outcome.code === NOT_THERE) throw missingFar(outcome.stderr.trim());
    must(outcome, `copy ${pack.length} files from ${dirname(pack[0]?.path ?? "")}`);
  } finally {
    await keep(pack, await reader.close());
  }
  const whole = new Set(reader.files.filter(({ state }) => state === "whole").map(({ part }) => part));
  return { damaged: pack.filter(({ to }) => !whole.has(`${to}.part`)) };
}

// On the disk before they have their names: a name says that the file is whole.
async function keep(pack: readonly WantedFile[], files: readonly PackedFile[]): Promise<void> {
  const arrived = pack.filter((_, index) => files[index]?.state === "whole");
  await Promise.all(
    arrived.map(async ({ to }) => {
      const file = await open(`${to}.part`, "r+");
      await file.sync();
      await file.close();
      await rename(`${to}.part`, to);
    }),
  );
  for (const folder of new Set(arrived.map(({ to }) => dirname(to)))) await syncFolder(folder);
  const torn = pack.filter((_, index) => files[index]?.state === "torn");
  for (const { to } of torn) await rm(`${to}.part`, { force: true });
}

// Sizes and digests of all of them, then their bytes one behind the other: three programs, whatever the number of files.
const SEND_PACK = `for path; do [ -f "$path" ] || { printf '%s\\n' "$path" >&2; exit ${NOT_THERE}; }; done
stat -L -c %s -- "$@" || exit 1
sha256sum -- "$@" | sed 's/^[\\\\]//; s/ .*//'
exec cat -- "$@"`;
