import { messageOf } from "../core/errors.ts";
import { folderFiles, type CheckpointFiles } from "./files.ts";
import type { CompleteMarker } from "./schema.ts";

export interface FileProblem {
  readonly path: string;
  readonly problem: string;
}

/**
 * Compares a checkpoint folder of this disk with its marker: presence and size of every file, the size a safetensors header
 * promises, and SHA-256 when `digests` is asked for. Returns every problem; empty means sound.
 */
export const verifyCheckpoint = async (
  folder: string,
  marker: CompleteMarker,
  options: { readonly digests: boolean },
): Promise<readonly FileProblem[]> => {
  const files = folderFiles(folder);
  const sizes = new Map((await files.list("")).map(({ path, bytes }) => [path, bytes]));
  return (await verifyListed(files, { folder: "", sizes, marker }, options)).problems;
};

export interface Verified {
  /** Every problem; empty means sound. */
  readonly problems: readonly FileProblem[];
  /** Whether SHA-256 of every file was compared; false too where it cannot be computed without a download. */
  readonly digests: boolean;
}

/** The same wherever the files lie, without downloading them: sizes from a listing, two small reads for each weights file. */
export const verifyListed = async (
  files: CheckpointFiles,
  checkpoint: {
    readonly folder: string;
    readonly sizes: ReadonlyMap<string, number>;
    readonly marker: Pick<CompleteMarker, "files">;
  },
  options: { readonly digests: boolean },
): Promise<Verified> => {
  const { folder, sizes, marker } = checkpoint;
  const names = Object.keys(marker.files).toSorted();
  if (!names.some((name) => name.endsWith(".safetensors"))) {
    const problems = [{ path: ".", problem: "the marker lists no weights (*.safetensors)" }];
    return { problems, digests: false };
  }
  let compared = options.digests;
  const found = await Promise.all(
    names.map(async (name) => {
      const wanted = marker.files[name];
      if (wanted === undefined) return [];
      const path = folder === "" ? name : `${folder}/${name}`;
      const problem = await sizeProblem(files, path, { bytes: sizes.get(name), wanted: wanted.bytes });
      if (problem !== undefined) return [{ path: name, problem }];
      if (!options.digests) return [];
      const digest = await files.digest(path);
      if (digest === null) compared = false;
      return digest === null || digest === wanted.sha256
        ? []
        : [{ path: name, problem: "its content changed (SHA-256 differs)" }];
    }),
  );
  return { problems: found.flat(), digests: compared };
};

async function sizeProblem(
  files: CheckpointFiles,
  path: string,
  { bytes, wanted }: { readonly bytes: number | undefined; readonly wanted: number },
): Promise<string | undefined> {
  if (bytes === undefined) return "missing";
  if (bytes !== wanted) return `${bytes} bytes instead of ${wanted}`;
  if (!path.endsWith(".safetensors")) return undefined;
  const promised = await safetensorsSize(files, path);
  if (typeof promised === "string") return promised;
  return promised === bytes ? undefined : `its header promises ${promised} bytes, the file has ${bytes}`;
}

const LENGTH_BYTES = 8;
const LARGEST_HEADER = 100_000_000;

/** Bytes that the header of a safetensors file says it has, or a sentence when the header cannot be read. */
export const safetensorsSize = async (
  files: Pick<CheckpointFiles, "read">,
  path: string,
): Promise<number | string> => {
  // Outside of the try: a machine that cannot be reached says nothing about the file.
  const prefix = Buffer.from(await files.read(path, 0, LENGTH_BYTES));
  if (prefix.length < LENGTH_BYTES) return "too short for a header";
  const length = Number(prefix.readBigUInt64LE());
  if (length > LARGEST_HEADER) return `a header of ${length} bytes is not plausible`;
  const header = Buffer.from(await files.read(path, LENGTH_BYTES, LENGTH_BYTES + length));
  if (header.length < length) return "its header is cut off";
  try {
    return LENGTH_BYTES + length + lastOffset(JSON.parse(header.toString("utf8")));
  } catch (error) {
    return `its header cannot be read: ${messageOf(error)}`;
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
