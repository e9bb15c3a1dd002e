import type { JobInput } from "../schema.ts";
import { RemoteError } from "../../core/errors.ts";
import { farScript } from "./far-script.ts";
import { bytesByFolder, mustFit } from "./full-disk.ts";
import { missingThere, type MissingInput } from "./upload-question.ts";
import { sendFile, type UploadWays } from "./upload-file.ts";
import { inPacks, sendPack } from "./upload-pack.ts";
import type { Transport } from "./transport.ts";

export interface UploadOptions {
  /** Octal, of what is made in shared folders. */
  readonly umask: string;
  readonly group?: string | undefined;
  readonly signal?: AbortSignal | undefined;
  /** Called as bytes leave this machine; `total` is what was missing there at the start. */
  readonly onProgress?: ((progress: { readonly bytes: number; readonly total: number }) => void) | undefined;
}

// Enough to hash one file there while another is on its way; more would only share the same line.
const AT_ONCE = 3;
const LARGE = 32 * 1024 * 1024;

/**
 * Brings the inputs that are not there yet to the far machine. One question tells what is missing; small files go together; another goes into
 * `PATH.part`, from where an earlier try stopped, is verified by its digest there and renamed. What is there already under its
 * name and size is never written again. Returns the files and bytes that were sent now.
 * RemoteErrors `INPUT_MISSING`, `INPUT_DIFFERS`, `UPLOAD_DAMAGED`, `FAR_DISK_FULL` (its half files are removed), `TRANSPORT_…`; UserErrors `INPUT_CHANGED`, `INPUT_GONE`.
 */
export const ensureUploads = async (
  transport: Transport,
  inputs: readonly JobInput[],
  options: UploadOptions,
): Promise<{ readonly sent: number; readonly bytes: number }> => {
  const missing = await missingThere(transport, inputs, options.signal);
  const absent = missing.filter(({ input }) => input.source === null);
  if (absent.length > 0) throw notThere(absent.map(({ input }) => input.path));
  const total = missing.reduce((sum, { input, there }) => sum + input.bytes - there, 0);
  if (total >= LARGE) await mustFit(transport, restByFolder(missing));
  let bytes = 0;
  const stop = new AbortController();
  const ways: UploadWays = {
    transport: await wayFor(total, transport),
    umask: options.umask,
    group: options.group ?? "",
    signal: options.signal ? AbortSignal.any([options.signal, stop.signal]) : stop.signal,
    onBytes: (count) => {
      bytes += count;
      options.onProgress?.({ bytes, total: Math.max(total, bytes) });
    },
  };
  const { packs, single } = inPacks(missing);
  const queue = [
    ...packs.map((pack) => async () => {
      if (await sendPack(ways, pack)) return;
      // One by one tells which of them, and sends it once more.
      for (const input of pack) await sendFile(ways, input, 0);
    }),
    ...single.map(
      ({ input, there }) =>
        async () =>
          sendFile(ways, input, there),
    ),
  ].values();
  const worker = async (): Promise<void> => {
    try {
      for (const task of queue) await task();
    } catch (error) {
      stop.abort();
      throw error;
    }
  };
  const ends = await Promise.allSettled(Array.from({ length: Math.min(AT_ONCE, missing.length) }, worker));
  // The first failure ends the others, whose own failures say nothing.
  const failures = ends.flatMap((end) => (end.status === "rejected" ? [end.reason as unknown] : []));
  const [first] = failures.toSorted((a, b) => Number(isAborted(a)) - Number(isAborted(b)));
  if (first === undefined) return { sent: missing.length, bytes };
  // Half files would hold what space there is for ever, and nobody else could write either.
  if (isFull(first))
    await forgetParts(
      transport,
      single.map(({ input }) => input.path),
    ).catch(() => undefined);
  throw first;
};

const restByFolder = (missing: readonly MissingInput[]): ReadonlyMap<string, number> =>
  bytesByFolder(missing.map(({ input, there }) => ({ path: input.path, bytes: input.bytes - there })));

const isFull = (error: unknown): boolean => error instanceof RemoteError && error.code === "FAR_DISK_FULL";

async function forgetParts(transport: Transport, paths: readonly string[]): Promise<void> {
  await farScript(transport, 'for path; do rm -f -- "$path.part"; done', paths);
}

// A second connection is worth its handshake for many bytes only, and only where it can be made.
async function wayFor(bytes: number, transport: Transport): Promise<Transport> {
  if (transport.bulk === undefined || bytes < LARGE) return transport;
  const outcome = await transport.bulk.exec(["true"]);
  return outcome.kind === "exited" && outcome.code === 0 ? transport.bulk : transport;
}

const isAborted = (error: unknown): boolean =>
  error instanceof RemoteError && error.code === "TRANSPORT_ABORTED";

function notThere(paths: readonly string[]): RemoteError {
  const [first = "", ...rest] = paths;
  const others = rest.length === 0 ? "" : ` and ${rest.length} more file${rest.length === 1 ? "" : "s"}`;
  return new RemoteError("INPUT_MISSING", `${first}${others} should lie on the machine that runs the job`, {
    hint: "put it there, correct the profile's paths, or stage it by upload",
  });
}
