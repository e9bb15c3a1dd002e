import type { RoleEntry } from "../schema.ts";
import { describeRoles, scriptsOf, type DescribedRole } from "./role-files.ts";
import { readRoles } from "./roles.ts";
import type { SourceRole } from "./source.ts";

/** Roles of a source whose records name their role. */
export interface NamedRoles {
  readonly roles: readonly SourceRole[];
  readonly scripts: ReadonlyMap<string, string>;
  /** By slug, or else by stem. */
  readonly of: (name: string) => { readonly role: RoleEntry; readonly profile: string | null } | undefined;
}

/** The manifest's roles, with the profiles and voices that stand below the folder. Errors of `readRoles`. */
export const namedRoles = async (folder: string, rolesFile: string): Promise<NamedRoles> => {
  const described = await describeRoles(folder, await readRoles(rolesFile));
  const byStem = new Map(described.map((one): [string, DescribedRole] => [one.role.stem, one]));
  const bySlug = new Map(described.map((one): [string, DescribedRole] => [one.role.slug, one]));
  const roles = described.map(({ role }) => role);
  return { roles, scripts: scriptsOf(described), of: (name) => bySlug.get(name) ?? byStem.get(name) };
};
