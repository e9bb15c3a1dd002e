import { dirname, join, sep } from "node:path";
import { UserError } from "../../core/errors.ts";
import type { Project } from "../../core/project.ts";
import type { LoadedSpec } from "../load-spec.ts";
import { packedFolder } from "../places.ts";
import { openManifest } from "./manifest.ts";
import { openRelease } from "./release.ts";
import type { DialogueSource } from "./source.ts";

/**
 * Opens the source of a spec, whatever its form. A Hub repository must have been fetched before. UserErrors
 * `SOURCE_MISSING`, `SOURCE_NOT_FETCHED`, `SOURCE_AMBIGUOUS`, `ROLES_INVALID`, `PARQUET_UNUSABLE`, …
 */
export const openSource = async (
  { spec, sourceFolder: folder, rolesFile }: LoadedSpec,
  project: Project,
): Promise<DialogueSource> => {
  const { source } = spec;
  const paths = { folder, rolesFile };
  if (source.format === "manifest" && dirname(folder) === project.datasets && /\.\w+$/.test(folder))
    throw new UserError("SPEC_INVALID", `${folder} lies among the data sets themselves`, {
      hint: "put the manifest and its audio into a folder of their own",
    });
  if (packedFolder(project, spec.name).startsWith(`${folder}${sep}`))
    throw new UserError("SPEC_INVALID", `${folder} holds the folder that packing writes to`, {
      hint: "put the corpus into a folder of its own",
    });
  if (source.format === "speechrole-release") return openRelease(source, paths);
  if (source.format === "manifest") return openManifest(source, paths);
  const spools = spoolFolder(project, spec.name);
  // Every thread opens the source: what reads tables is loaded by those who read tables.
  if (source.format === "parquet") return (await import("./parquet.ts")).openParquet(source, paths, spools);
  return (await import("./hub-source.ts")).openHubSource(source, paths, spools);
};

// What is kept of tables in which no single row can be found; a cache.
const spoolFolder = (project: Project, name: string): string =>
  join(project.state, "datasets", `${name}.rows`);
