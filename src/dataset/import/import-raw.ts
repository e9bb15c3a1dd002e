import { randomBytes } from "node:crypto";
import { mkdir, readdir, readFile, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { UserError } from "../../core/errors.ts";
import { exists, syncFolder, writeAtomic, writeJson } from "../../core/files.ts";
import { ByteFault, utf8Text } from "../json/bytes.ts";
import type { DialogueKind } from "../schema.ts";
import { compare, nfc, pairHash } from "../text.ts";
import { COMPLETION, QUARANTINE } from "./find-form.ts";
import { readCompletion, type FormRepair, type RawQuarantine, type RawTurns } from "./raw-dialogues.ts";
import type { ScanOptions } from "./scan.ts";

export interface RawImportOptions extends ScanOptions {
  /** Folders ROLE/{request}_{answer}.json, absolute; only read. */
  readonly folder: string;
  readonly kind: DialogueKind;
  /** New folder for ROLE.json of each role, `report.json` and `quarantine.jsonl`. */
  readonly output: string;
  /** Write in place of an output that is there. */
  readonly force?: boolean;
}

/** What became of the completions; also written as report.json. */
export interface RawImportReport {
  readonly kind: DialogueKind;
  readonly files: number;
  /** JSON files below the folders of roles that were not read, for they are not named {request}_{answer}.json. */
  readonly misnamed: readonly string[];
  readonly dialogues: number;
  readonly turns: number;
  readonly byRole: Readonly<Record<string, number>>;
  /** Repairs of each kind, and the files that needed any. */
  readonly repairs: Readonly<Record<string, number>>;
  readonly repairedFiles: number;
  /** Files that could not be read: each stands in quarantine.jsonl with its byte and reason. */
  readonly quarantined: number;
  /** Dialogues that were left out, by reason. */
  readonly drops: Readonly<Record<string, number>>;
  readonly dropList: readonly {
    readonly file: string;
    readonly item: number;
    readonly reason: string;
    readonly detail: string;
  }[];
}

/**
 * Completions of a model as role files `[{dialogue: [{user, role}], context}]`, for the synthesis of their speech. A file is
 * read strictly, else after counted repairs, else quarantined as a whole with byte and reason: a cut-off one keeps nothing.
 * The output appears whole or not at all. UserErrors `SOURCE_MISSING`, `OUTPUT_EXISTS`.
 */
export const importRaw = async (options: RawImportOptions): Promise<RawImportReport> => {
  const { folder, output, force = false } = options;
  if (!force && (await exists(output)))
    throw new UserError("OUTPUT_EXISTS", `${output} is there already`, {
      hint: "take another folder, or --force to write in its place",
    });
  const { roles, misnamed } = await roleFolders(folder);
  const staged = `${output}.${randomBytes(4).toString("hex")}.tmp`;
  try {
    await mkdir(staged, { recursive: true });
    const report = { ...(await readAll(roles, staged, options)), misnamed };
    await writeJson(join(staged, "report.json"), report);
    await syncFolder(staged);
    if (await exists(output)) await rename(output, `${staged}.old`);
    await rename(staged, output);
    return report;
  } finally {
    for (const path of [staged, `${staged}.old`]) await rm(path, { recursive: true, force: true });
  }
};

interface RoleFolders {
  readonly roles: readonly string[];
  readonly misnamed: readonly string[];
}

async function roleFolders(folder: string): Promise<RoleFolders> {
  const roles: string[] = [];
  const misnamed: string[] = [];
  for (const name of (await readdir(folder).catch(() => [])).toSorted(compare)) {
    const files = (await readdir(join(folder, name)).catch(() => [])).filter((file) => !file.startsWith("."));
    if (files.some((file) => COMPLETION.test(file))) roles.push(name);
    for (const file of files.toSorted(compare))
      if (/\.json$/i.test(file) && !COMPLETION.test(file)) misnamed.push(`${name}/${file}`);
  }
  if (roles.length > 0) return { roles, misnamed };
  const [first] = misnamed;
  throw new UserError("SOURCE_MISSING", `${folder} holds no completions`, {
    hint: `expected ROLE/0_0.json: the number of the request, and that of its answer${first === undefined ? "" : `; it holds ${first}`}`,
  });
}

interface Totals {
  files: number;
  repairedFiles: number;
  turns: number;
  readonly quarantine: (Omit<RawQuarantine, "outcome"> & { readonly file: string })[];
  readonly byRole: Map<string, number>;
  readonly repairs: Map<FormRepair, number>;
  readonly drops: Map<string, number>;
  readonly dropList: { file: string; item: number; reason: string; detail: string }[];
}

async function readAll(
  roles: readonly string[],
  staged: string,
  options: RawImportOptions,
): Promise<Omit<RawImportReport, "misnamed">> {
  const totals: Totals = {
    files: 0,
    repairedFiles: 0,
    turns: 0,
    byRole: new Map(),
    repairs: new Map(),
    drops: new Map(),
    dropList: [],
    quarantine: [],
  };
  for (const name of roles) {
    const stem = nfc(name);
    if (totals.byRole.has(stem))
      throw new UserError(
        "STEM_COLLISION",
        `${options.folder} has the role "${stem}" twice, in two Unicode forms`,
      );
    const dialogues = await readRole(name, totals, options);
    totals.turns += dialogues.reduce((sum, { dialogue }) => sum + dialogue.length, 0);
    totals.byRole.set(stem, dialogues.length);
    await writeJson(join(staged, `${stem}.json`), dialogues);
    options.onProgress?.(name);
  }
  const lines = totals.quarantine.map((fault) => `${JSON.stringify(fault)}\n`);
  if (lines.length > 0) await writeAtomic(join(staged, QUARANTINE), lines.join(""));
  return reportOf(options.kind, totals);
}

async function readRole(
  name: string,
  totals: Totals,
  { folder, kind, signal }: RawImportOptions,
): Promise<readonly RawTurns[]> {
  const dialogues: RawTurns[] = [];
  const seen = new Set<string>();
  for (const completion of await completions(join(folder, name))) {
    signal?.throwIfAborted();
    totals.files++;
    const file = `${name}/${completion}`;
    const read = await readFileOf(join(folder, file), { stem: nfc(name), kind });
    if (read.outcome === "quarantined") {
      const { reason, offset, detail } = read;
      totals.quarantine.push({ file, reason, offset, detail });
      continue;
    }
    if (read.repairs.size > 0) totals.repairedFiles++;
    for (const [repair, count] of read.repairs) add(totals.repairs, repair, count);
    for (const drop of read.drops) leaveOut(totals, { file, ...drop });
    for (const { item, ...dialogue } of read.dialogues) {
      const key = dialogue.dialogue.map(({ user, role }) => pairHash(user, role)).join();
      if (seen.has(key))
        leaveOut(totals, { file, item, reason: "duplicate", detail: "the role has this dialogue" });
      else dialogues.push(dialogue);
      seen.add(key);
    }
  }
  return dialogues;
}

// In the order of their numbers, which is that of the requests.
async function completions(folder: string): Promise<readonly string[]> {
  const key = (name: string): string =>
    name.replace(
      COMPLETION,
      (_, request: string, answer: string) => `${request.padStart(9, "0")}_${answer.padStart(9, "0")}`,
    );
  const names = (await readdir(folder)).filter((name) => COMPLETION.test(name));
  return names.toSorted((a, b) => compare(key(a), key(b)));
}

async function readFileOf(
  path: string,
  of: { readonly stem: string; readonly kind: DialogueKind },
): Promise<ReturnType<typeof readCompletion>> {
  const bytes = await readFile(path);
  try {
    const text = utf8Text(bytes, 0);
    const read = readCompletion(text, of);
    return read.outcome === "read"
      ? read
      : { ...read, offset: Buffer.byteLength(text.slice(0, read.offset)) };
  } catch (error) {
    if (!(error instanceof ByteFault)) throw error;
    const fault: RawQuarantine = {
      outcome: "quarantined",
      reason: "encoding",
      offset: error.offset,
      detail: error.message,
    };
    return fault;
  }
}

function leaveOut(totals: Totals, drop: Totals["dropList"][number]): void {
  add(totals.drops, drop.reason, 1);
  totals.dropList.push(drop);
}

function add<Key>(counts: Map<Key, number>, key: Key, count: number): void {
  counts.set(key, (counts.get(key) ?? 0) + count);
}

function reportOf(kind: DialogueKind, totals: Totals): Omit<RawImportReport, "misnamed"> {
  return {
    kind,
    files: totals.files,
    dialogues: [...totals.byRole.values()].reduce((sum, count) => sum + count, 0),
    turns: totals.turns,
    byRole: Object.fromEntries(totals.byRole),
    repairs: Object.fromEntries(totals.repairs),
    repairedFiles: totals.repairedFiles,
    quarantined: totals.quarantine.length,
    drops: Object.fromEntries(totals.drops),
    dropList: totals.dropList,
  };
}
