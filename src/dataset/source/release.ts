import { closeSync, openSync, readSync } from "node:fs";
import { join } from "node:path";
import { systemCode, systemText, UserError } from "../../core/errors.ts";
import { ByteFault, jsonError, parseJsonBytes } from "../json/bytes.ts";
import { arrayElements } from "../json/elements.ts";
import { quote } from "../text.ts";
import { readClip } from "./clip-file.ts";
import { beginning } from "./label.ts";
import { settleMislabelled } from "./mislabelled.ts";
import { readReleased, type ReleaseContext, type ReleaseSpec } from "./release-dialogue.ts";
import { findRoleFiles, type RoleFile } from "./release-files.ts";
import { describeRoles, scriptsOf } from "./role-files.ts";
import { readRoles } from "./roles.ts";
import type { DialogueSource, Draft, Found, Unusable } from "./source.ts";

/** Where a source and its role manifest lie, both absolute. */
export interface SourcePaths {
  readonly folder: string;
  readonly rolesFile: string;
}

/**
 * A corpus in the layout of the released SpeechRole-Data: train/{single,multi}/ROLE.json and
 * test_data/{single,multi}_turn/ROLE.json with audio beside them or inline, described by a role manifest. Who speaks
 * is taken from the file a dialogue stands in and its place there, never from the name of a clip.
 */
export const openRelease = async (
  spec: ReleaseSpec,
  { folder, rolesFile }: SourcePaths,
): Promise<DialogueSource> => {
  const all = await describeRoles(folder, await readRoles(rolesFile));
  const { described, leftOut } = settleMislabelled(all, spec.mislabelled);
  const roles = described.map(({ role }) => role);
  const tree = await findRoleFiles(folder, roles, leftOut);
  const profiles = new Map(described.map(({ role, profile }) => [role.slug, profile]));
  const files = new Map(tree.files.map((file) => [file.file, file]));
  const contextOf = ({ role, kind }: Pick<RoleFile, "role" | "kind">): ReleaseContext => ({
    kind,
    profile: profiles.get(role.slug) ?? null,
    source: spec,
  });
  return {
    roles,
    scripts: scriptsOf(described),
    units: [...files.keys()],
    revision: null,
    folder,
    strangers: tree.strangers,
    async *dialogues(unit, signal) {
      const file = files.get(unit);
      if (file) yield* dialoguesOf(folder, file, { context: contextOf(file), signal });
    },
    read: async (found) => readAgain(folder, found, contextOf(found)),
    clip: async (source, allocate) => readClip(source, [folder, ...tree.bases], allocate),
    close: async () => undefined,
  };
};

async function* dialoguesOf(
  folder: string,
  { role, kind, pool, file }: RoleFile,
  options: { readonly context: ReleaseContext; readonly signal: AbortSignal | undefined },
): AsyncGenerator<Found> {
  const path = join(folder, file);
  try {
    for await (const { index, start, end, bytes } of arrayElements(path, options.signal)) {
      const content = readOrRefuse(bytes, start, (raw) => readReleased(raw, options.context));
      yield { role, kind, pool, place: { file, index, start, end }, content };
    }
  } catch (error) {
    throw error instanceof ByteFault ? await jsonError(path, error) : (unreadable(path, error) ?? error);
  }
}

/** UserError `SOURCE_UNREADABLE` for what the machine refused of a file that is there; else undefined. */
export const unreadable = (path: string, error: unknown): UserError | undefined => {
  if (!["EACCES", "EPERM", "EISDIR", "EIO", "ELOOP"].includes(systemCode(error) ?? "")) return undefined;
  return new UserError("SOURCE_UNREADABLE", `${path} cannot be read: ${systemText(error)}`, { cause: error });
};

/**
 * Reads the JSON of one dialogue; where that is broken, it is this dialogue alone that cannot be used. The place of the
 * fault is told within the dialogue, which may stand anywhere in its file.
 */
export const readOrRefuse = <Content>(
  bytes: Uint8Array,
  start: number,
  read: (raw: unknown) => Content,
): Content | Unusable => {
  let raw: unknown;
  try {
    raw = parseJsonBytes(bytes, start);
  } catch (error) {
    if (!(error instanceof ByteFault)) throw error;
    // What a person can look for in the file.
    const text = Buffer.from(bytes.subarray(0, 240)).toString("utf8");
    return {
      outcome: "unusable",
      reason: "json_invalid",
      turn: null,
      detail: `byte ${error.offset - start} of the dialogue ${quote(text)}: ${error.message}`,
      label: beginning(text),
    };
  }
  return read(raw);
};

async function readAgain(
  folder: string,
  { place }: Pick<Found, "place">,
  context: ReleaseContext,
): Promise<Draft> {
  const bytes = await sourceBytes(folder, place);
  const content = readOrRefuse(bytes, place.start, (raw) => readReleased(raw, context));
  if (content.outcome === "dialogue") return content.draft;
  throw sourceChanged(place.file);
}

/** Bytes [start, end) of a file of the source. UserError `SOURCE_CHANGED` when it is not there any more. */
export const sourceBytes = async (
  folder: string,
  place: Pick<Found["place"], "file" | "start" | "end">,
): Promise<Uint8Array> => {
  try {
    return await bytesAt(join(folder, place.file), place);
  } catch (error) {
    throw systemCode(error) === "ENOENT" ? sourceChanged(place.file) : error;
  }
};

/** Bytes [start, end) of a file; fewer when it has become shorter. */
export const bytesAt = async (
  path: string,
  { start, end }: { readonly start: number; readonly end: number },
): Promise<Uint8Array> => {
  const bytes = new Uint8Array(end - start);
  // As for clips: handing each of these short reads to the pool costs more than it brings.
  const file = openSync(path, "r");
  try {
    for (let done = 0; done < bytes.length;) {
      const read = readSync(file, bytes, done, bytes.length - done, start + done);
      if (read === 0) return bytes.subarray(0, done);
      done += read;
    }
    return bytes;
  } finally {
    closeSync(file);
  }
};

/** UserError `SOURCE_CHANGED`: a dialogue is not where it was. */
export const sourceChanged = (file: string): UserError =>
  new UserError("SOURCE_CHANGED", `${file} changed while it was being packed`, {
    hint: "run the same command again when nothing writes to the corpus any more",
  });
