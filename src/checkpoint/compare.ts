import type { CheckpointFiles } from "./files.ts";
import { MARKER } from "./scan.ts";
import type { CheckpointManifest } from "./schema.ts";
import { verifyListed, type FileProblem } from "./verify.ts";

/** What has become of a checkpoint since it was registered. */
export type CheckpointState =
  | {
      readonly kind: "sound";
      /** Whether SHA-256 of every file was compared. */
      readonly digests: boolean;
    }
  /** None of its files is there: somebody, or the site, has removed it as a whole. */
  | { readonly kind: "gone" }
  /** Some are there and others are not, or they are not what was written. */
  | { readonly kind: "torn"; readonly problems: readonly FileProblem[] };

/**
 * Compares a checkpoint with its manifest, which lies here, wherever the checkpoint does; nothing is downloaded. `folder` is its path
 * in `files`. Errors are those of `files`: a machine that cannot be reached says nothing about the checkpoint.
 */
export const compareCheckpoint = async (
  files: CheckpointFiles,
  { folder, manifest }: { readonly folder: string; readonly manifest: CheckpointManifest },
  options: { readonly digests: boolean },
): Promise<CheckpointState> => {
  const prefix = folder === "" ? "" : `${folder}/`;
  const listed = await files.list(folder);
  const sizes = new Map(listed.map(({ path, bytes }) => [path.slice(prefix.length), bytes]));
  const names = manifest.files.map(({ path }) => path);
  if (!names.some((name) => sizes.has(name)) && !sizes.has(MARKER)) return { kind: "gone" };
  const wanted = Object.fromEntries(
    manifest.files.map(({ path, bytes, sha256 }) => [path, { bytes, sha256 }]),
  );
  const { problems, digests } = await verifyListed(
    files,
    { folder, sizes, marker: { files: wanted } },
    options,
  );
  const unmarked = sizes.has(MARKER) ? [] : [{ path: MARKER, problem: "missing" }];
  const all = [...problems, ...unmarked];
  return all.length > 0 ? { kind: "torn", problems: all } : { kind: "sound", digests };
};

/** Digests of a checkpoint as `sha256sum --check` reads them, relative to its folder. */
export const digestList = ({ files }: Pick<CheckpointManifest, "files">): string =>
  files.map(({ path, sha256 }) => `${sha256}  ${path}\n`).join("");
