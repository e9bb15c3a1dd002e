import { open } from "node:fs/promises";
import { isAbsolute, join, relative, resolve, sep } from "node:path";
import { openClipReader } from "../../audio/index.ts";
import { messageOf, systemCode, UserError } from "../../core/errors.ts";
import { ByteFault, jsonError, parseJsonBytes } from "../json/bytes.ts";
import { arrayElements } from "../json/elements.ts";
import { decodeDataUrl } from "./data-url.ts";
import { readReleased, type ReleaseContext, type ReleaseSpec } from "./release-dialogue.ts";
import { describeRole, findRoleFiles, readEitherForm, type RoleFile } from "./release-files.ts";
import { readRoles } from "./roles.ts";
import type { ClipBytes, ClipFault, ClipSource, DialogueSource, Draft, Found } from "./source.ts";

/**
 * A corpus in the layout of the released SpeechRole-Data: train/{single,multi}/ROLE.json and
 * test_data/{single,multi}_turn/ROLE.json with audio beside them or inline, described by a role manifest. Who speaks
 * is taken from the file a dialogue stands in and its place there, never from the name of a clip.
 */
export const openRelease = async (spec: ReleaseSpec, folder: string): Promise<DialogueSource> => {
  const entries = await readRoles(join(folder, spec.roles));
  const tree = await findRoleFiles(folder, entries);
  const readVoice = await openClipReader();
  const described = await Promise.all(entries.map(async (entry) => describeRole(folder, entry, readVoice)));
  const profiles = new Map(described.map(({ role, profile }) => [role.slug, profile]));
  const files = new Map(tree.files.map((file) => [file.file, file]));
  const contextOf = ({ role, kind }: Pick<RoleFile, "role" | "kind">): ReleaseContext => ({
    kind,
    profile: profiles.get(role.slug) ?? null,
    source: spec,
    file: (path) => ({ kind: "file", path }),
  });
  return {
    roles: described.map(({ role }) => role),
    units: [...files.keys()],
    revision: null,
    folder,
    strangers: tree.strangers,
    async *dialogues(unit, signal) {
      const file = files.get(unit);
      if (file) yield* dialoguesOf(folder, file, { context: contextOf(file), signal });
    },
    read: async (found) => readAgain(folder, found, contextOf(found)),
    clip: async (source) => readClip(source, [folder, ...tree.bases]),
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
      const content = readReleased(parseJsonBytes(bytes, start), options.context);
      yield { role, kind, pool, place: { file, index, start, end }, content };
    }
  } catch (error) {
    throw error instanceof ByteFault ? await jsonError(path, error) : error;
  }
}

async function readAgain(
  folder: string,
  { place }: Pick<Found, "place">,
  context: ReleaseContext,
): Promise<Draft> {
  const bytes = new Uint8Array(place.end - place.start);
  const file = await open(join(folder, place.file), "r");
  try {
    await file.read(bytes, 0, bytes.length, place.start);
    const content = readReleased(parseJsonBytes(bytes, place.start), context);
    if (content.outcome === "dialogue") return content.draft;
  } catch (error) {
    if (!(error instanceof ByteFault)) throw error;
  } finally {
    await file.close();
  }
  throw new UserError("SOURCE_CHANGED", `${place.file} changed while it was being packed`, {
    hint: "run the same command again when nothing writes to the corpus any more",
  });
}

// What the name of a clip can be wrong with; anything else is the machine's fault.
const NO_CLIP = new Set(["EISDIR", "ENOTDIR", "ENAMETOOLONG", "ERR_INVALID_ARG_VALUE"]);

async function readClip(source: ClipSource, bases: readonly string[]): Promise<ClipBytes | ClipFault> {
  if (source.kind === "inline") return decodeDataUrl(source.data);
  if (source.kind === "bytes") return { outcome: "bytes", bytes: source.bytes };
  for (const base of bases) {
    const path = resolve(base, source.path);
    if (!isInside(bases[0] ?? base, path))
      return { outcome: "rejected", reason: "path", message: `${source.path} lies outside the corpus` };
    try {
      const bytes = await readEitherForm(base, source.path);
      if (bytes) return { outcome: "bytes", bytes };
    } catch (error) {
      if (NO_CLIP.has(systemCode(error) ?? "")) break;
      // A disk that fails for a moment must not shrink the data set.
      throw new UserError("SOURCE_UNREADABLE", `${path} cannot be read: ${messageOf(error)}`, {
        cause: error,
      });
    }
  }
  return { outcome: "rejected", reason: "missing", message: `there is no file ${source.path}` };
}

function isInside(folder: string, path: string): boolean {
  const inner = relative(folder, path);
  return inner !== ".." && !inner.startsWith(`..${sep}`) && !isAbsolute(inner);
}
