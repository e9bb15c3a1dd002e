import { posix } from "node:path";
import { RemoteError } from "../../core/errors.ts";
import { sizeText } from "../far/disk-checks.ts";
import { farScript } from "./far-script.ts";
import { must } from "./must.ts";
import type { ExecOutcome, Transport } from "./transport.ts";

/** Space of the filesystem that a folder lies, or will lie, on. Bytes. */
export interface FarSpace {
  /** Of `df`: names the filesystem. */
  readonly device: string;
  readonly mount: string;
  readonly total: number;
  readonly free: number;
}

/** What is being written, for the error: completes "Could not …", and how much of it there is. */
export interface Writing {
  readonly what: string;
  readonly folder: string;
  readonly bytes: number;
}

const HINT =
  "free some space there, or choose another disk in the profile's paths; start again then: what has arrived whole stays";

/** Like `must`, for a command that writes: RemoteError `FAR_DISK_FULL` with numbers where a disk or a quota was the reason. */
export const mustWrite = async (
  transport: Transport,
  outcome: ExecOutcome,
  writing: Writing,
): Promise<Buffer> => {
  if (outcome.kind === "exited" && outcome.code !== 0) {
    const reason = REASON.exec(outcome.stderr)?.[0];
    if (reason !== undefined) throw await diskFull(transport, reason, writing);
  }
  return must(outcome, writing.what);
};

const REASON = /No space left on device|Disk quota exceeded/i;

async function diskFull(
  transport: Transport,
  reason: string,
  { what, folder, bytes }: Writing,
): Promise<RemoteError> {
  const spaces = await spaceOf(transport, [folder]).catch(() => new Map<string, FarSpace>());
  const space = spaces.get(folder);
  const isQuota = /quota/i.test(reason);
  const numbers =
    space === undefined
      ? ""
      : `; ${sizeText(space.free)} of the ${sizeText(space.total)} of ${space.mount} are free`;
  const cause = isQuota ? "a disk quota is used up" : "the disk is full";
  return new RemoteError(
    "FAR_DISK_FULL",
    `Could not ${what}: ${cause} on ${transport.name}${numbers}, ${sizeText(bytes)} were to be written`,
    { hint: HINT },
  );
}

/** What is free where; folders of which nothing is told are left out. RemoteErrors `TRANSPORT_…`. */
export const spaceOf = async (
  transport: Transport,
  folders: readonly string[],
): Promise<ReadonlyMap<string, FarSpace>> => {
  const outcome = await farScript(transport, DF, folders);
  const lines = must(outcome, "see how much space is free").toString("utf8").split("\n");
  return new Map(
    folders.flatMap((folder, index): [string, FarSpace][] => {
      const [, device = "", total, free, mount = ""] = FIELDS.exec(lines[index] ?? "") ?? [];
      if (total === undefined || free === undefined) return [];
      return [
        [folder, { device, mount, total: Number(total) * 1024, free: Math.max(0, Number(free)) * 1024 }],
      ];
    }),
  );
};

// Counted from the end: the name of a device may have spaces.
const FIELDS = /^(.*?)\s+(\d+)\s+-?\d+\s+(-?\d+)\s+(?:\d+%|-)\s+(.*?)\s*$/;

// A line for each folder, of the nearest one above it that exists; parts that nobody has touched for a week are removed first.
const DF = `for folder; do
  for part in "$folder"/*.part; do
    if [ -f "$part" ] && [ -n "$(find "$part" -prune -mtime +6 2>/dev/null)" ]; then rm -f -- "$part"; fi
  done
  while [ ! -d "$folder" ] && [ "$folder" != / ]; do folder=$(dirname -- "$folder"); done
  df -Pk -- "$folder" 2>/dev/null | tail -n 1 | tr '\\n' ' '
  echo
done`;

/**
 * Refuses an upload that cannot fit, before anything of it is sent: RemoteError `FAR_DISK_FULL` with numbers. `needs` are bytes by
 * folder; folders on one filesystem add up.
 */
export const mustFit = async (transport: Transport, needs: ReadonlyMap<string, number>): Promise<void> => {
  const spaces = await spaceOf(transport, [...needs.keys()]);
  const byDisk = new Map<string, { readonly space: FarSpace; readonly folder: string; need: number }>();
  for (const [folder, need] of needs) {
    const space = spaces.get(folder);
    if (space === undefined) continue;
    const key = `${space.device}\n${space.mount}`;
    const disk = byDisk.get(key) ?? { space, folder, need: 0 };
    disk.need += need;
    byDisk.set(key, disk);
  }
  for (const { space, folder, need } of byDisk.values()) {
    if (need <= space.free) continue;
    throw new RemoteError(
      "FAR_DISK_FULL",
      `${sizeText(need)} are to be sent to ${folder} on ${transport.name}, and ${sizeText(space.free)} of the ${sizeText(space.total)} of ${space.mount} are free`,
      { hint: HINT },
    );
  }
};

/** Sums of bytes by folder. */
export const bytesByFolder = (
  files: readonly { readonly path: string; readonly bytes: number }[],
): ReadonlyMap<string, number> => {
  const sums = new Map<string, number>();
  for (const { path, bytes } of files) {
    const folder = posix.dirname(path);
    sums.set(folder, (sums.get(folder) ?? 0) + bytes);
  }
  return sums;
};
