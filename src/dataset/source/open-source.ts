import type { Project } from "../../core/project.ts";
import { UserError } from "../../core/errors.ts";
import type { LoadedSpec } from "../load-spec.ts";
import { openRelease } from "./release.ts";
import type { DialogueSource } from "./source.ts";

/** Opens the source of a spec, whatever its form. UserErrors of the forms. */
export const openSource = async (
  { spec, sourceFolder }: LoadedSpec,
  _project: Project,
): Promise<DialogueSource> => {
  const { source } = spec;
  if (source.format === "speechrole-release") return openRelease(source, sourceFolder);
  throw new UserError("SOURCE_FORMAT", source.format);
};
