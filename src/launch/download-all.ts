import { exists } from "../core/files.ts";
import type { ArtifactStore } from "./schema.ts";

type Many = Parameters<NonNullable<ArtifactStore["downloadMany"]>>;

/**
 * Copies files of a run to this machine in as few exchanges as the way there allows, going on where an earlier call stopped: a `to`
 * that exists is taken for the file. `onFile` is told how many of them are here.
 */
export const downloadAll = async (
  store: Pick<ArtifactStore, "download" | "downloadMany">,
  ...[files, options = {}]: Many
): Promise<void> => {
  if (store.downloadMany) return store.downloadMany(files, options);
  const { signal, onFile } = options;
  for (const [index, { path, to }] of files.entries()) {
    signal?.throwIfAborted();
    if (!(await exists(to))) await store.download(path, to, signal ? { signal } : {});
    onFile?.(index + 1);
  }
};
