import { readdir, stat } from "node:fs/promises";
import { dirname, join, relative, sep } from "node:path";
import { systemCode, UserError } from "../../core/errors.ts";
import { ByteFault, jsonError } from "../json/bytes.ts";
import { fileLines, type LineMark } from "../json/lines.ts";
import type { DatasetSpec } from "../schema.ts";
import { compare } from "../text.ts";
import { readClip } from "./clip-file.ts";
import { csvDialogues, csvRecord } from "./csv.ts";
import { namedRoles } from "./named-roles.ts";
import { NOBODY, readRecord, type RecordContext } from "./plain-record.ts";
import { readOrRefuse, sourceBytes, sourceChanged, unreadable, type SourcePaths } from "./release.ts";
import type { DialogueSource, Draft, Found } from "./source.ts";

export type ManifestSpec = Extract<DatasetSpec["source"], { format: "manifest" }>;

// A part of a file that one thread reads: enough of them for every thread even of a manifest with paths, whose lines are
// short, and not too many where the audio stands in the lines.
const UNIT_BYTES = { least: 20_000, most: 16_000_000 };
const UNITS = 32;

/**
 * A manifest: JSONL with one dialogue in each line, or CSV with one turn in each row, with paths of audio files relative
 * to the manifest's folder. Who speaks stands in the field `role_id`: a slug or a stem of the role manifest. UserErrors
 * `SOURCE_MISSING`, `ROLE_UNKNOWN`, `CSV_INVALID`.
 */
export const openManifest = async (
  spec: ManifestSpec,
  { folder: given, rolesFile }: SourcePaths,
): Promise<DialogueSource> => {
  const { folder, files } = await manifestFiles(given);
  const named = await namedRoles(folder, rolesFile);
  const context: RecordContext = { trainReference: spec.trainReference, pool: "train", roleOf: named.of };
  const marks = new Map<string, LineMark>();
  const units = new Map(
    files.flatMap((file) => unitsOf(file, unitBytes(files))).map((unit) => [unit.name, unit]),
  );
  return {
    roles: named.roles,
    scripts: named.scripts,
    units: [...units.keys()],
    revision: null,
    folder,
    strangers: [],
    async *dialogues(name, signal) {
      const unit = units.get(name);
      if (unit) yield* dialoguesOf(unit, { folder, context, marks, signal });
    },
    read: async ({ place }) => {
      const bytes = await sourceBytes(folder, place);
      if (isCsv(place.file))
        return draftAgain(await csvRecord(join(folder, place.file), bytes), context, place.file);
      const line = readOrRefuse(bytes, place.start, (value) => ({ value }));
      return draftAgain("value" in line ? line.value : undefined, context, place.file);
    },
    clip: async (source, allocate) => readClip(source, [folder], allocate),
    close: async () => undefined,
  };
};

/** The draft of a record that was usable before. UserError `SOURCE_CHANGED`. */
export const draftAgain = (raw: unknown, context: RecordContext, file: string): Draft => {
  const read = readRecord(raw, context);
  if ("content" in read && read.content.outcome === "dialogue") return read.content.draft;
  throw sourceChanged(file);
};

/** A record with its role. UserError `ROLE_UNKNOWN`. */
export const foundOf = (
  raw: unknown,
  context: RecordContext,
  where: { readonly place: Found["place"]; readonly name: string },
): Found => {
  const read = readRecord(raw, context);
  if (!("unknown" in read)) return { ...read, place: where.place };
  throw new UserError("ROLE_UNKNOWN", `${where.name}: no role of the manifest is called "${read.unknown}"`, {
    hint: "role_id is the slug or the stem of a role in the role manifest",
  });
};

interface Unit {
  readonly name: string;
  readonly file: string;
  readonly from: number;
  readonly to: number;
}

interface Reading {
  readonly folder: string;
  readonly context: RecordContext;
  /** Of each file, the last line whose number is known. */
  readonly marks: Map<string, LineMark>;
  readonly signal: AbortSignal | undefined;
}

async function* dialoguesOf(unit: Unit, reading: Reading): AsyncGenerator<Found> {
  const path = join(reading.folder, unit.file);
  try {
    yield* isCsv(unit.file) ? ofCsv(path, unit, reading) : ofLines(path, unit, reading);
  } catch (error) {
    throw error instanceof ByteFault ? await jsonError(path, error) : (unreadable(path, error) ?? error);
  }
}

async function* ofCsv(path: string, { file }: Unit, { context, signal }: Reading): AsyncGenerator<Found> {
  for await (const { raw, line, ...span } of csvDialogues(path, signal))
    yield foundOf(raw, context, { place: { file, ...span }, name: `${path}:${line}` });
}

async function* ofLines(
  path: string,
  unit: Unit,
  { context, marks, signal }: Reading,
): AsyncGenerator<Found> {
  const { file } = unit;
  const from = marks.get(file);
  const onMark = (mark: LineMark): unknown => marks.set(file, mark);
  for await (const line of fileLines(path, {
    range: unit,
    onMark,
    signal,
    ...(from ? { mark: from } : {}),
  })) {
    const { index, start, end, bytes } = line;
    const raw = readOrRefuse(bytes, start, (value) => ({ value }));
    const place = { file, index, start, end };
    if ("value" in raw) yield foundOf(raw.value, context, { place, name: `${path}:${index + 1}` });
    else yield { role: NOBODY, kind: "single", pool: "train", place, content: raw };
  }
}

interface ManifestFile {
  readonly file: string;
  readonly bytes: number;
}

function unitBytes(files: readonly ManifestFile[]): number {
  const all = files.reduce((sum, { bytes }) => sum + bytes, 0);
  return Math.min(UNIT_BYTES.most, Math.max(UNIT_BYTES.least, Math.ceil(all / UNITS)));
}

function unitsOf({ file, bytes }: ManifestFile, each: number): Unit[] {
  const count = isCsv(file) ? 1 : Math.max(1, Math.ceil(bytes / each));
  return Array.from({ length: count }, (_, part) => ({
    name: count === 1 ? file : `${file}#${part + 1}`,
    file,
    from: part * each,
    to: part + 1 === count ? Infinity : (part + 1) * each,
  }));
}

/** By its name. */
export const isCsv = (file: string): boolean => /\.csv$/i.test(file);

/** The manifests of a source: one file, or those of a folder, sorted. UserError `SOURCE_MISSING`. */
export const manifestFiles = async (
  path: string,
): Promise<{ readonly folder: string; readonly files: readonly { file: string; bytes: number }[] }> => {
  const found = await statOf(path);
  const folder = found.isDirectory() ? path : dirname(path);
  const names = found.isDirectory()
    ? (await readdir(path)).filter((name) => /\.(?:jsonl|ndjson|csv)$/i.test(name) && !name.startsWith("."))
    : [relative(folder, path).split(sep).join("/")];
  if (names.length === 0)
    throw new UserError("SOURCE_MISSING", `${path} holds no manifest`, {
      hint: "expected a .jsonl or .csv file",
    });
  const files: { file: string; bytes: number }[] = [];
  for (const file of names.toSorted(compare))
    files.push({ file, bytes: (await stat(join(folder, file))).size });
  return { folder, files };
};

/** UserError `SOURCE_MISSING`. */
export const statOf = async (path: string): Promise<Awaited<ReturnType<typeof stat>>> => {
  try {
    return await stat(path);
  } catch (error) {
    if (systemCode(error) !== "ENOENT" && systemCode(error) !== "ENOTDIR") throw error;
    throw new UserError("SOURCE_MISSING", `There is no file or folder ${path}`, {
      hint: "is the corpus downloaded, and does source.path of the data set point at it?",
    });
  }
};
