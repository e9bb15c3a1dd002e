import { open, stat } from "node:fs/promises";
import { join } from "node:path";
import { messageOf, systemCode } from "../core/errors.ts";
import { sha256File } from "../core/hash.ts";
import type { CompleteMarker } from "./schema.ts";

export interface FileProblem {
  readonly path: string;
  readonly problem: string;
}

/**
 * Compares a checkpoint folder with its marker: presence and size of every file, the size a safetensors header
 * promises, and SHA-256 when `digests` is asked for. Returns every problem; empty means sound.
 */
export const verifyCheckpoint = async (
  folder: string,
  marker: CompleteMarker,
  options: { readonly digests: boolean },
): Promise<readonly FileProblem[]> => {
  const names = Object.keys(marker.files).toSorted();
  if (!names.some((name) => name.endsWith(".safetensors"))) {
    return [{ path: ".", problem: "the marker lists no weights (*.safetensors)" }];
  }
  const found = await Promise.all(
    names.map(async (name) => {
      const wanted = marker.files[name];
      const problem = wanted && (await problemOf(join(folder, name), wanted, options.digests));
      return problem === undefined ? [] : [{ path: name, problem }];
    }),
  );
  return found.flat();
};

async function problemOf(
  path: string,
  wanted: { readonly bytes: number; readonly sha256: string },
  digests: boolean,
): Promise<string | undefined> {
  const bytes = await sizeOf(path);
  if (bytes === undefined) return "missing";
  if (bytes !== wanted.bytes) return `${bytes} bytes instead of ${wanted.bytes}`;
  if (path.endsWith(".safetensors")) {
    const promised = await safetensorsSize(path);
    if (typeof promised === "string") return promised;
    if (promised !== bytes) return `its header promises ${promised} bytes, the file has ${bytes}`;
  }
  if (digests && (await sha256File(path)) !== wanted.sha256) return "its content changed (SHA-256 differs)";
  return undefined;
}

async function sizeOf(path: string): Promise<number | undefined> {
  try {
    return (await stat(path)).size;
  } catch (error) {
    if (systemCode(error) === "ENOENT") return undefined;
    throw error;
  }
}

const LENGTH_BYTES = 8;
const LARGEST_HEADER = 100_000_000;

/** Bytes that the header of a safetensors file says it has, or a sentence when the header cannot be read. */
export const safetensorsSize = async (path: string): Promise<number | string> => {
  const file = await open(path, "r");
  try {
    const prefix = Buffer.alloc(LENGTH_BYTES);
    if ((await file.read(prefix, 0, LENGTH_BYTES, 0)).bytesRead < LENGTH_BYTES)
      return "too short for a header";
    const length = Number(prefix.readBigUInt64LE());
    if (length > LARGEST_HEADER) return `a header of ${length} bytes is not plausible`;
    const header = Buffer.alloc(length);
    if ((await file.read(header, 0, length, LENGTH_BYTES)).bytesRead < length) return "its header is cut off";
    return LENGTH_BYTES + length + lastOffset(JSON.parse(header.toString("utf8")));
  } catch (error) {
    return `its header cannot be read: ${messageOf(error)}`;
  } finally {
    await file.close();
  }
};

function lastOffset(header: unknown): number {
  if (typeof header !== "object" || header === null) throw new TypeError("not an object");
  const ends = Object.entries(header).flatMap(([name, entry]: [string, unknown]) =>
    name === "__metadata__" ? [] : [endOf(entry)],
  );
  return Math.max(0, ...ends);
}

function endOf(entry: unknown): number {
  if (
    typeof entry === "object" &&
    entry !== null &&
    "data_offsets" in entry &&
    Array.isArray(entry.data_offsets)
  ) {
    return Number(entry.data_offsets[1]);
  }
  throw new TypeError("an entry without data_offsets");
}
