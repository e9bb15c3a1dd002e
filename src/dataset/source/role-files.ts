import { join } from "node:path";
import { openClipReader } from "../../audio/index.ts";
import { sha256 } from "../../core/hash.ts";
import type { RoleEntry } from "../schema.ts";
import { nfc, textFault } from "../text.ts";
import { readEitherForm } from "./clip-file.ts";
import type { SourceRole } from "./source.ts";

// The same tree was renamed several times upstream; a file is taken from the first that has it.
const METADATA_TREES = ["role_metadata", "metadata", "code"];

/** A role and the text of its profile; null where the corpus has none that is usable. */
export interface DescribedRole {
  readonly role: SourceRole;
  readonly profile: string | null;
}

/** The roles of a manifest with what the metadata trees below a folder hold of them. */
export const describeRoles = async (
  folder: string,
  roles: readonly RoleEntry[],
): Promise<readonly DescribedRole[]> => {
  const readVoice = await openClipReader();
  const described: DescribedRole[] = [];
  for (const role of roles) {
    const profile = await metadataFile(folder, `role_profiles/${role.stem}_profile.txt`);
    const voice = await metadataFile(folder, `role_voices/${role.stem}.wav`);
    const clip = voice === null ? undefined : readVoice(voice);
    described.push({
      role: {
        ...role,
        profileSha256: profile === null ? null : sha256(profile),
        referenceClipSha256: voice === null ? null : sha256(voice),
        referencePcmSha256: clip?.outcome === "clip" ? clip.pcmSha256 : null,
      },
      profile: profile === null ? null : profileText(profile),
    });
  }
  return described;
};

/** A file of a role's metadata under any of the names of that tree, or null. */
export const metadataFile = async (folder: string, path: string): Promise<Buffer | null> => {
  for (const tree of METADATA_TREES) {
    const bytes = await readEitherForm(join(folder, tree), path);
    if (bytes) return bytes;
  }
  return null;
};

/** A profile as text, NFC and without a byte order mark; null when it is not usable. */
export const profileText = (bytes: Uint8Array): string | null => {
  const text = nfc(
    Buffer.from(bytes)
      .toString("utf8")
      .replace(/^\ufeff/, "")
      .trim(),
  );
  return textFault(text) === undefined ? text : null;
};
