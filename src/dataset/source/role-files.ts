import { join } from "node:path";
import { openClipReader, type ReadClip } from "../../audio/index.ts";
import { sha256 } from "../../core/hash.ts";
import type { RoleEntry } from "../schema.ts";
import { nfc, normalised, textFault } from "../text.ts";
import { readEitherForm } from "./clip-file.ts";
import type { SourceRole } from "./source.ts";

// The same tree was renamed several times upstream; a file is taken from the first that has it.
const METADATA_TREES = ["role_metadata", "metadata", "code"];

/** A role and the texts of its profile and script; null where the corpus has none that is usable. */
export interface DescribedRole {
  readonly role: SourceRole;
  readonly profile: string | null;
  /** As texts are compared: `normalised`. */
  readonly script: string | null;
}

/** The roles of a manifest with what the metadata trees below a folder hold of them. */
export const describeRoles = async (
  folder: string,
  roles: readonly RoleEntry[],
): Promise<readonly DescribedRole[]> => {
  // Opened for the first voice, if there is any.
  let reader: Promise<ReadClip> | undefined;
  const readVoice = async (voice: Uint8Array): Promise<ReturnType<ReadClip>> =>
    (await (reader ??= openClipReader()))(voice);
  const described: DescribedRole[] = [];
  for (const role of roles) {
    const profile = await metadataFile(folder, `role_profiles/${role.stem}_profile.txt`);
    const script = await metadataFile(folder, `scripts/${role.stem}_scripts.txt`);
    const voice = await metadataFile(folder, `role_voices/${role.stem}.wav`);
    const clip = voice && (await readVoice(voice));
    described.push({
      role: {
        ...role,
        profileSha256: profile && sha256(profile),
        referenceClipSha256: voice && sha256(voice),
        referencePcmSha256: clip?.outcome === "clip" ? clip.pcmSha256 : null,
      },
      profile: profile && profileText(profile),
      script: script && normalised(profileText(script) ?? ""),
    });
  }
  return described;
};

/** Scripts by the slugs of their roles. */
export const scriptsOf = (described: readonly DescribedRole[]): ReadonlyMap<string, string> =>
  new Map(described.flatMap(({ role, script }) => (script === null ? [] : [[role.slug, script] as const])));

/** A file of a role's metadata under any of the names of that tree, or null. */
export const metadataFile = async (folder: string, path: string): Promise<Uint8Array | null> => {
  for (const tree of METADATA_TREES) {
    const bytes = await readEitherForm(join(folder, tree), path);
    if (bytes) return bytes;
  }
  return null;
};

/** A profile or script as text, NFC and without a byte order mark; null when it is not usable. */
export const profileText = (bytes: Uint8Array): string | null => {
  const text = nfc(
    Buffer.from(bytes)
      .toString("utf8")
      .replace(/^\ufeff/, "")
      .trim(),
  );
  return textFault(text) === undefined ? text : null;
};
