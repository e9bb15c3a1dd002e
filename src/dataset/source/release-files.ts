import { readdir, readFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import type { ReadClip } from "../../audio/index.ts";
import { systemCode, UserError } from "../../core/errors.ts";
import { exists } from "../../core/files.ts";
import { sha256 } from "../../core/hash.ts";
import type { DialogueKind, RoleEntry } from "../schema.ts";
import { compare, nfc, textFault } from "../text.ts";
import type { Found, SourceRole } from "./source.ts";

// The same trees were renamed several times upstream; any of the names is taken.
const EVALUATION_TREES = [".", "SpeechRole-Eval", "benchmark"];
const METADATA_TREES = ["role_metadata", "metadata", "code"];

/** One file of dialogues: all of one role, kind and pool. */
export interface RoleFile {
  readonly role: RoleEntry;
  readonly kind: DialogueKind;
  readonly pool: Found["pool"];
  /** Relative to the source folder, with forward slashes. */
  readonly file: string;
}

export interface ReleaseTree {
  readonly files: readonly RoleFile[];
  readonly strangers: readonly string[];
  /** Folders that paths in the test data may be relative to, beside the source folder. */
  readonly bases: readonly string[];
}

/** Finds the role files of a released corpus. UserError `SOURCE_MISSING` when the folder has neither tree. */
export const findRoleFiles = async (folder: string, roles: readonly RoleEntry[]): Promise<ReleaseTree> => {
  const evaluation = (await firstExisting(folder, EVALUATION_TREES, "test_data")) ?? ".";
  const pools = (["single", "multi"] as const).flatMap((kind) => [
    { pool: "train" as const, kind, under: `train/${kind}` },
    { pool: "test" as const, kind, under: join(evaluation, "test_data", `${kind}_turn`) },
  ]);
  const byStem = new Map(roles.map((role) => [role.stem, role]));
  const files: RoleFile[] = [];
  const strangers: string[] = [];
  for (const { pool, kind, under } of pools) {
    for (const name of await jsonFiles(join(folder, under))) {
      const file = `${under}/${name}`;
      const role = byStem.get(nfc(name.slice(0, -".json".length)));
      if (role) files.push({ role, kind, pool, file });
      else strangers.push(file);
    }
  }
  if (files.length === 0)
    throw new UserError("SOURCE_MISSING", `${folder} holds no dialogues of the roles in its manifest`, {
      hint: "expected train/{single,multi}/ROLE.json and test_data/{single,multi}_turn/ROLE.json",
    });
  return {
    files: files.toSorted((a, b) => compare(a.file, b.file)),
    strangers: strangers.toSorted(compare),
    bases: evaluation === "." ? [] : [join(folder, evaluation)],
  };
};

/** Profile text and digests of a role; null where the corpus has none. */
export const describeRole = async (
  folder: string,
  role: RoleEntry,
  readVoice: ReadClip,
): Promise<{ readonly role: SourceRole; readonly profile: string | null }> => {
  const tree = (await firstExisting(folder, METADATA_TREES, "role_profiles")) ?? METADATA_TREES[0] ?? "";
  const profile = await readEitherForm(folder, `${tree}/role_profiles/${role.stem}_profile.txt`);
  const voice = await readEitherForm(folder, `${tree}/role_voices/${role.stem}.wav`);
  const clip = voice === null ? undefined : readVoice(voice);
  const text =
    profile === null
      ? ""
      : nfc(
          profile
            .toString("utf8")
            .replace(/^\ufeff/, "")
            .trim(),
        );
  return {
    role: {
      ...role,
      profileSha256: profile === null ? null : sha256(profile),
      referenceClipSha256: voice === null ? null : sha256(voice),
      referencePcmSha256: clip?.outcome === "clip" ? clip.pcmSha256 : null,
    },
    profile: textFault(text) === undefined ? text : null,
  };
};

async function firstExisting(
  folder: string,
  trees: readonly string[],
  inside: string,
): Promise<string | undefined> {
  for (const tree of trees) if (await exists(join(folder, tree, inside))) return tree;
  return undefined;
}

async function jsonFiles(folder: string): Promise<string[]> {
  try {
    return (await readdir(folder)).filter((name) => name.endsWith(".json"));
  } catch (error) {
    if (systemCode(error) === "ENOENT") return [];
    throw error;
  }
}

/**
 * Bytes of a file below a folder, or null. A name is tried as written, then in both Unicode forms: archives made on a
 * Mac hold decomposed names where the JSON has composed ones.
 */
export const readEitherForm = async (folder: string, path: string): Promise<Buffer | null> => {
  for (const name of new Set([path, path.normalize("NFC"), path.normalize("NFD")])) {
    try {
      return await readFile(resolve(folder, name));
    } catch (error) {
      if (systemCode(error) !== "ENOENT") throw error;
    }
  }
  return null;
};
