import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { messageOf, PreflightError, RemoteError, UnderstudyError } from "../../core/errors.ts";
import { exists } from "../../core/files.ts";
import { sha256 } from "../../core/hash.ts";
import { freeBytes } from "../../core/project.ts";
import { stat } from "node:fs/promises";
import { downloadFile } from "./download-file.ts";
import { contentUrl } from "./hub-calls.ts";
import type { HubProgress } from "./hub-progress.ts";
import { statusOf } from "./hub-fault.ts";
import type { HubWorld } from "./hub-world.ts";
import { expectedDigest, type RemoteFile } from "./remote-file.ts";

export interface DownloadAll {
  readonly repo: string;
  readonly commit: string;
  readonly files: readonly RemoteFile[];
  /** Folder for what is on its way; on the disk of where the files belong. */
  readonly staging: string;
  readonly onProgress?: ((progress: HubProgress) => void) | undefined;
  /** Called with each file as soon as it is complete and verified. */
  readonly onDone?: (file: RemoteFile, staged: string) => Promise<void>;
}

const AT_ONCE = 4;

/** Where a file waits in the staging folder: another content, and a path that no filesystem could take, get another name. */
export const stagedPath = (staging: string, file: RemoteFile): string =>
  join(staging, sha256(`${file.path}\n${file.bytes}\n${expectedDigest(file)}`).slice(0, 40));

/**
 * Downloads files into the staging folder, several at once. One that fails leaves the others alone: at the end all failures are told,
 * and the same call again fetches only what is missing. PreflightError `DISK_SPACE`; RemoteError `DOWNLOAD_FAILED`; those
 * of `downloadFile`.
 */
export const downloadAll = async (world: HubWorld, options: DownloadAll): Promise<void> => {
  const { files, staging, onProgress } = options;
  await mkdir(staging, { recursive: true });
  await requireSpace(options);
  const totalBytes = files.reduce((sum, { bytes }) => sum + bytes, 0);
  let came = 0;
  const onBytes = (bytes: number): void => {
    came += bytes;
    onProgress?.({ phase: "download", bytes: came, totalBytes });
  };
  const failures: Failure[] = [];
  const waiting = [...files];
  const stop = new AbortController();
  const signals = [stop.signal, ...(world.signal ? [world.signal] : [])];
  const inner = { ...world, signal: AbortSignal.any(signals) };
  const work = async (): Promise<void> => {
    for (let file = waiting.shift(); file !== undefined; file = waiting.shift()) {
      try {
        await fetchOne(file, { world: inner, options, onBytes });
      } catch (error) {
        if (stop.signal.aborted) return;
        // Of these the others would die as well.
        if (!isOfOneFile(error)) stop.abort(error);
        failures.push({ file, error });
      }
    }
  };
  await Promise.all(Array.from({ length: Math.min(AT_ONCE, files.length) }, work));
  world.signal?.throwIfAborted();
  if (failures.length > 0) throw failureOf(failures, files.length);
};

interface Failure {
  readonly file: RemoteFile;
  readonly error: unknown;
}

interface Fetching {
  readonly world: HubWorld;
  readonly options: DownloadAll;
  readonly onBytes: (bytes: number) => void;
}

async function fetchOne(file: RemoteFile, { world, options, onBytes }: Fetching): Promise<void> {
  const target = stagedPath(options.staging, file);
  if (await exists(target)) onBytes(file.bytes);
  else await downloadFile({ url: contentUrl(world, options, file.path), file, target, onBytes }, world);
  await options.onDone?.(file, target);
}

const isOfOneFile = (error: unknown): boolean =>
  error instanceof UnderstudyError &&
  (["HUB_FILE_CORRUPT", "HUB_FILE_INCOMPLETE"].includes(error.code) ||
    [404, 416].includes(statusOf(error) ?? 0));

function failureOf(failures: readonly Failure[], total: number): unknown {
  const fatal = failures.find(({ error }) => !isOfOneFile(error));
  if (fatal) return fatal.error;
  const lines = failures.map(({ error }) => `  ${messageOf(error)}`);
  return new RemoteError(
    "DOWNLOAD_FAILED",
    `${failures.length} of ${total} files could not be had:\n${lines.toSorted().join("\n")}`,
    { hint: "run the same command again: what came is kept; a file that stays damaged must be pushed anew" },
  );
}

// Space for what is still to come, with a little left over for the system.
async function requireSpace({ files, staging }: DownloadAll): Promise<void> {
  let missing = 0;
  for (const file of files) {
    const target = stagedPath(staging, file);
    if (!(await exists(target))) missing += file.bytes - (await sizeOf(`${target}.part`));
  }
  const free = await freeBytes(staging);
  if (missing + SPARE_BYTES <= free || missing === 0) return;
  const [need, have] = [missing + SPARE_BYTES, free].map((bytes) => `${(bytes / 1e9).toFixed(1)} GB`);
  throw new PreflightError(
    "DISK_SPACE",
    `The download needs ${need}, and the disk of ${staging} has ${have}`,
    {
      hint: "free some space, then run the same command again",
    },
  );
}

const SPARE_BYTES = 200_000_000;

async function sizeOf(path: string): Promise<number> {
  return (await exists(path)) ? (await stat(path)).size : 0;
}
