import type { DescribedRole } from "./role-files.ts";
import { profileName, sameName } from "./profile-name.ts";
import type { ReleaseSpec } from "./release-dialogue.ts";

// Files under this name hold the profile, the prompts and the dialogues of somebody else (Blair Waldorf of Gossip Girl).
const MISLABELLED: ReadonlySet<string> = new Set(["Raylan Givens"]);

/** True for a role whose files are known to be another character's, and whose profile still says so. */
export const isMislabelled = (stem: string, profile: string | null): boolean => {
  const said = profile === null ? undefined : profileName(profile);
  return MISLABELLED.has(stem) && said !== undefined && !sameName(said.name, stem);
};

/**
 * Roles as the spec wants the mislabelled ones: called what their profile says (the default), unless the manifest does
 * so already, or left out. `leftOut` has their stems.
 */
export const settleMislabelled = (
  described: readonly DescribedRole[],
  wish: ReleaseSpec["mislabelled"],
): { readonly described: readonly DescribedRole[]; readonly leftOut: ReadonlySet<string> } => {
  const wrong = new Set(
    described.filter(({ role, profile }) => isMislabelled(role.stem, profile)).map(({ role }) => role.stem),
  );
  if (wish === "exclude")
    return { described: described.filter(({ role }) => !wrong.has(role.stem)), leftOut: wrong };
  return {
    described: described.map((one) => (wrong.has(one.role.stem) ? relabelled(one) : one)),
    leftOut: new Set(),
  };
};

function relabelled(one: DescribedRole): DescribedRole {
  const { role, profile } = one;
  const said = profileName(profile ?? "");
  if (!said || !sameName(role.displayName, role.stem)) return one;
  return { ...one, role: { ...role, displayName: said.name, source: said.source || role.source } };
}
