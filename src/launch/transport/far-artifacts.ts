import { posix } from "node:path";
import { UserError } from "../../core/errors.ts";
import type { ArtifactStore } from "../schema.ts";
import { downloadFar } from "./download.ts";
import { downloadManyFar } from "./download-many.ts";
import { digestFar, listFar, readFar } from "./far-files.ts";
import type { Transport } from "./transport.ts";

/** Files below a run's folder on a far machine. Paths are relative to that folder. */
export const farArtifacts = (transport: Transport, runFolder: string): ArtifactStore => ({
  list: async (folder) => {
    const full = inside(runFolder, folder);
    const files = await listFar(transport, full);
    const prefix = posix.relative(runFolder, full);
    return files.map(({ path, bytes }) => ({ path: posix.join(prefix, path), bytes }));
  },
  read: async (path, start, end) => readFar(transport, inside(runFolder, path), start, end),
  digest: async (path) => digestFar(transport, inside(runFolder, path)),
  download: async (path, to, options) => downloadFar(transport, inside(runFolder, path), to, options),
  downloadMany: async (files, options) =>
    downloadManyFar(
      transport,
      files.map((file) => ({ ...file, path: inside(runFolder, file.path) })),
      options,
    ),
});

function inside(root: string, path: string): string {
  const full = posix.resolve(root, path);
  if (full === root || full.startsWith(`${root}/`)) return full;
  throw new UserError("ARTIFACT_OUTSIDE", `${path} is not below the run's folder ${root}`);
}
