import { readFile } from "node:fs/promises";
import { z } from "zod";
import { systemCode, UserError } from "../../core/errors.ts";
import { issueText, pathText, valueIn } from "../../core/issues.ts";
import { ByteFault, jsonError, parseJsonBytes } from "../json/bytes.ts";
import { RoleEntry } from "../schema.ts";
import { nfc, shortened } from "../text.ts";

/**
 * The role manifest: a JSON array of RoleEntry, stems and names in NFC. Stems and slugs must each be unique, since the
 * slug is what a role is called from here on. UserErrors `SOURCE_MISSING`, `SOURCE_JSON_INVALID`, `ROLES_INVALID`,
 * `SLUG_COLLISION`, `STEM_COLLISION`.
 */
export const readRoles = async (path: string): Promise<readonly RoleEntry[]> => {
  const value = await parseFile(path);
  const parsed = z.array(RoleEntry).min(1).safeParse(value);
  if (!parsed.success)
    throw new UserError(
      "ROLES_INVALID",
      `${path} is not a role manifest:\n${problemLines(parsed.error, value)}`,
      {
        hint: "expected an array of {stem, slug, displayName, language, source, heldOut}",
      },
    );
  const roles = parsed.data.map((role) => ({
    ...role,
    stem: nfc(role.stem),
    displayName: nfc(role.displayName),
    source: nfc(role.source),
  }));
  refuseTwins(roles, path);
  return roles;
};

// An entry is known by its stem; its number alone would have to be counted.
const problemLines = (error: z.ZodError, value: unknown): string =>
  error.issues
    .map((issue) => {
      const [index, ...path] = issue.path;
      if (typeof index !== "number") return `  ${issueText(issue, value)}`;
      const stem = valueIn(value, [index, "stem"]);
      const whose = typeof stem === "string" && stem !== "" ? `role "${shortened(stem)}"` : "a role";
      const where = path.length === 0 ? "" : ` ${pathText(path)}:`;
      return `  [${index}] ${whose}:${where} ${issueText(issue, valueIn(value, issue.path))}`;
    })
    .join("\n");

/** A whole JSON file, strictly. UserErrors `SOURCE_MISSING`, `SOURCE_JSON_INVALID`. */
export const parseFile = async (path: string): Promise<unknown> => {
  try {
    return await parseFileBytes(await readFile(path), path);
  } catch (error) {
    if (systemCode(error) !== "ENOENT" && systemCode(error) !== "ENOTDIR") throw error;
    throw new UserError("SOURCE_MISSING", `There is no file ${path}`, {
      hint: "is the corpus downloaded, and does source.path of the data set point at it?",
    });
  }
};

/** The bytes of a JSON file that was read, strictly. UserError `SOURCE_JSON_INVALID`. */
export const parseFileBytes = async (bytes: Uint8Array, path: string): Promise<unknown> => {
  try {
    return parseJsonBytes(bytes, 0);
  } catch (error) {
    throw error instanceof ByteFault ? await jsonError(path, error) : error;
  }
};

function refuseTwins(roles: readonly RoleEntry[], path: string): void {
  const bySlug = new Map<string, string>();
  const stems = new Set<string>();
  for (const { stem, slug } of roles) {
    if (stems.has(stem)) throw new UserError("STEM_COLLISION", `${path} lists the role "${stem}" twice`);
    stems.add(stem);
    const other = bySlug.get(slug);
    if (other !== undefined)
      throw new UserError(
        "SLUG_COLLISION",
        `${path} gives "${other}" and "${stem}" the same slug "${slug}"`,
        {
          hint: "give each role a slug of its own: rows are found by it",
        },
      );
    bySlug.set(slug, stem);
  }
}
