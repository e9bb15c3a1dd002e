import { readdir, rm, stat } from "node:fs/promises";
import { join, sep } from "node:path";
import { z } from "zod";
import { UserError } from "../../core/errors.ts";
import { exists, parseJson, readIfExists, writeJson } from "../../core/files.ts";
import type { LoadedSpec } from "../load-spec.ts";
import type { DatasetSpec } from "../schema.ts";
import { compare } from "../text.ts";
import { openTables } from "./parquet.ts";
import type { SourcePaths } from "./release.ts";
import type { DialogueSource } from "./source.ts";

export type HubSpec = Extract<DatasetSpec["source"], { format: "hub" }>;

/** What a repository was asked for, and the commit and files that came of it; lies with the files. */
const Fetched = z.strictObject({
  repo: z.string(),
  asked: z.string(),
  commit: z.string(),
  files: z.array(z.strictObject({ path: z.string(), bytes: z.int().nonnegative() })),
});
const FETCHED = "fetched.json";

/** Downloads the wanted files of a data set repository into a folder, verified; what is there already is not fetched. */
export type DownloadRepository = (wanted: {
  readonly repo: string;
  readonly revision: string;
  readonly folder: string;
  readonly include: (path: string) => boolean;
}) => Promise<{
  readonly revision: string;
  readonly files: readonly { readonly path: string; readonly bytes: number }[];
}>;

/**
 * Brings the repository of a spec into the project's state; any other source needs nothing. Parquet of an earlier
 * commit is removed. What was fetched of a commit is not asked for again; `keep` holds a branch or tag to that commit, too,
 * for processes that pack one data set together. Call it before `openSource`, by one process: threads only open what is
 * there. Errors of `download`.
 */
export const fetchSource = async (
  { spec, sourceFolder: folder }: LoadedSpec,
  download: DownloadRepository,
  { keep = false }: { readonly keep?: boolean } = {},
): Promise<void> => {
  const { source } = spec;
  if (source.format !== "hub") return;
  const { repo, revision: asked } = source;
  if ((keep || COMMIT.test(asked)) && (await isFetched(source, folder))) return;
  const include = (path: string): boolean => isTable(path) || path === source.roles;
  const { revision: commit, files } = await download({ repo, revision: asked, folder, include });
  const wanted = files
    .map(({ path, bytes }) => ({ path, bytes }))
    .toSorted((a, b) => compare(a.path, b.path));
  const fetched = { repo, asked, commit, files: wanted };
  const before = await readIfExists(join(folder, FETCHED));
  if (before === undefined || JSON.stringify(JSON.parse(before)) !== JSON.stringify(fetched))
    await writeJson(join(folder, FETCHED), fetched);
  const names = new Set(wanted.map(({ path }) => path));
  for (const name of await readdir(folder, { recursive: true })) {
    const path = name.split(sep).join("/");
    if (isTable(path) && !names.has(path)) await rm(join(folder, name), { force: true });
  }
};

const COMMIT = /^[0-9a-f]{40}$/;

async function isFetched({ repo, revision }: HubSpec, folder: string): Promise<boolean> {
  const text = await readIfExists(join(folder, FETCHED));
  const fetched = text === undefined ? undefined : Fetched.safeParse(JSON.parse(text)).data;
  if (fetched?.repo !== repo || fetched.asked !== revision) return false;
  for (const { path, bytes } of fetched.files) {
    const size = await stat(join(folder, path)).then(
      (found) => found.size,
      () => undefined,
    );
    if (size !== bytes) return false;
  }
  return true;
}

/** A repository that was fetched, as Parquet; its commit is the revision. UserErrors `SOURCE_NOT_FETCHED`, and of `openParquet`. */
export const openHubSource = async (
  spec: HubSpec,
  paths: SourcePaths,
  spools: string,
): Promise<DialogueSource> => {
  const text = await readIfExists(join(paths.folder, FETCHED));
  const fetched = text === undefined ? undefined : parseJson(text, Fetched, join(paths.folder, FETCHED));
  if (!fetched || fetched.repo !== spec.repo || fetched.asked !== spec.revision)
    throw new UserError(
      "SOURCE_NOT_FETCHED",
      `${spec.repo} at ${spec.revision} has not been fetched from the Hub`,
      {
        hint: "understudy dataset pack fetches it first",
      },
    );
  const names = fetched.files.map(({ path }) => path).filter(isTable);
  for (const name of names)
    if (!(await exists(join(paths.folder, name))))
      throw new UserError("SOURCE_NOT_FETCHED", `${name} of ${spec.repo} is not there any more`, {
        hint: "understudy dataset pack fetches it again",
      });
  if (names.length === 0)
    throw new UserError("SOURCE_MISSING", `${spec.repo} has no Parquet at ${fetched.commit}`);
  const source = await openTables(spec, { ...paths, files: { base: paths.folder, names }, spools });
  return { ...source, revision: fetched.commit };
};

const isTable = (path: string): boolean =>
  path.endsWith(".parquet") && !path.split("/").some((part) => part.startsWith("."));
