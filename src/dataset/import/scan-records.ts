import { join } from "node:path";
import { z } from "zod";
import { sha256 } from "../../core/hash.ts";
import { ByteFault, jsonError } from "../json/bytes.ts";
import { fileLines } from "../json/lines.ts";
import { Language } from "../schema.ts";
import { csvDialogues } from "../source/csv.ts";
import { isCsv, manifestFiles } from "../source/manifest.ts";
import { NOBODY, poolOf, readRecord, type RecordContext } from "../source/plain-record.ts";
import { readOrRefuse } from "../source/release.ts";
import type { Found, Unusable } from "../source/source.ts";
import { nfc, normalised } from "../text.ts";
import { DefectList } from "./defects.ts";
import { noteLanguage, noteTurn } from "./record-defects.ts";
import { learnLanguage, RoleTable, type RoleFacts } from "./role-facts.ts";
import type { Scan, ScanOptions } from "./scan.ts";
import { isSpeechRole } from "./speechrole.ts";

const NamedRecord = z.looseObject({ role_id: z.string().min(1) });
const Turn = z.looseObject({ user_text: z.string().nullish(), role_text: z.string() });
/** What an import looks at of a record; in a table most rows are read without their turns. */
export const LooseRecord = z.looseObject({
  role_id: z.string().min(1),
  role_name: z.string().nullish(),
  role_source: z.string().nullish(),
  language: Language.nullish(),
  split: z.string().nullish(),
  num_turns: z.coerce.number().nullish(),
  turns: z.array(Turn).nullish(),
});
export type LooseRecord = z.infer<typeof LooseRecord>;

/** What has been found so far. */
export class RecordCounts {
  readonly roles = new RoleTable();
  readonly defects = new DefectList();
  readonly files: { file: string; dialogues: number; unusable: number }[] = [];
  #turnsAreKnown = true;
  readonly #reasons = new Set<string>();

  begin(file: string): void {
    this.files.push({ file, dialogues: 0, unusable: 0 });
  }

  /** A record that a pack would leave out; its place says where and why. */
  refuse({ reason, detail }: Pick<Unusable, "reason" | "detail">, place: string): void {
    this.#count("unusable");
    this.#reasons.add(reason);
    this.defects.add({ code: "of_no_use", role: null, detail: LEFT_OUT }, `${place}: ${detail}`);
  }

  /** `place` of a record that was read whole: then its turns are looked at too. */
  learn(record: LooseRecord, pool: Found["pool"], place?: string): void {
    this.#count("dialogues");
    const { role_id, split, turns } = record;
    const facts = this.roles.of(nfc(role_id));
    // In a table of ours the role is named by its slug already.
    if (/^[a-z0-9_]+$/.test(role_id)) facts.slug = role_id;
    describe(facts, record);
    const length = this.#turnsOf(record);
    facts.dialogues[poolOf(split ?? "") ?? pool][length > 1 ? "multi" : "single"]++;
    facts.turns += length;
    for (const [index, turn] of (turns ?? []).entries()) {
      learnLanguage(facts, turn.role_text);
      if (place === undefined) continue;
      noteTurn(turn, { stem: facts.stem, place: `${place}, turn ${index + 1}`, defects: this.defects });
    }
  }

  scan(format: "manifest" | "parquet"): Scan {
    const roles = this.roles.all();
    for (const facts of roles) noteLanguage(facts, this.defects);
    const sum = (what: "dialogues" | "unusable"): number =>
      this.files.reduce((total, file) => total + file[what], 0);
    const [reason] = this.#reasons;
    return {
      format,
      roles,
      turnsAreKnown: this.#turnsAreKnown,
      files: this.files,
      forms: new Map(),
      unusable: sum("unusable"),
      isSilent: sum("dialogues") === 0 && this.#reasons.size === 1 && reason === "user_audio_missing",
      defects: this.defects.all(),
      isSpeechRole: isSpeechRole(roles.map(({ stem }) => stem)),
    };
  }

  #turnsOf({ turns, num_turns }: LooseRecord): number {
    const length = turns?.length ?? num_turns ?? undefined;
    if (length === undefined) this.#turnsAreKnown = false;
    return length ?? 0;
  }

  #count(what: "dialogues" | "unusable"): void {
    const file = this.files.at(-1);
    if (file) file[what]++;
  }
}

/** Said of every dialogue that is none by its shape. */
export const LEFT_OUT = "a pack leaves these out";

// The first record that says it counts.
function describe(facts: RoleFacts, record: LooseRecord): void {
  facts.displayName ??= record.role_name ?? undefined;
  facts.source ??= record.role_source ?? undefined;
  facts.language ??= record.language ?? undefined;
}

/** Reads a manifest, or all of a folder, and says what is in them. */
export const scanManifest = async (path: string, options: ScanOptions): Promise<Scan> => {
  const counts = new RecordCounts();
  const { folder, files } = await manifestFiles(path);
  const seen = files.length > 1 ? new Map<string, string>() : undefined;
  for (const { file } of files) {
    counts.begin(file);
    for await (const record of recordsOf(join(folder, file), options.signal)) {
      const place = `${file}:${record.line}`;
      if (!learnRecord(record.content, place, counts) || !seen) continue;
      const key = textKey(record.content);
      const other = seen.get(key);
      if (other === undefined) seen.set(key, file);
      else if (other !== file)
        counts.defects.add(
          { code: "in_two_files", role: null, detail: "the same dialogues stand in two files: keep one" },
          `${place} (also in ${other})`,
        );
    }
    options.onProgress?.(file);
  }
  return counts.scan("manifest");
};

interface ManifestRecord {
  readonly line: number;
  readonly content: { readonly value: unknown } | Unusable;
}

async function* recordsOf(path: string, signal: AbortSignal | undefined): AsyncGenerator<ManifestRecord> {
  if (isCsv(path)) {
    for await (const { raw, line } of csvDialogues(path, signal)) yield { line, content: { value: raw } };
    return;
  }
  try {
    for await (const { bytes, start, index } of fileLines(path, { signal }))
      yield { line: index + 1, content: readOrRefuse(bytes, start, (value) => ({ value })) };
  } catch (error) {
    throw error instanceof ByteFault ? await jsonError(path, error) : error;
  }
}

// Whoever speaks: which roles there are is what an import finds out.
const ANYBODY: RecordContext = {
  trainReference: "cosyvoice2",
  pool: "train",
  roleOf: () => ({ role: NOBODY, profile: null }),
};

// True for a dialogue that a pack can use.
function learnRecord(content: ManifestRecord["content"], place: string, counts: RecordCounts): boolean {
  if (!("value" in content)) {
    counts.refuse(content, place);
    return false;
  }
  const read = readRecord(content.value, ANYBODY);
  const record = LooseRecord.safeParse(content.value).data;
  const problem = "content" in read && read.content.outcome === "unusable" ? read.content : undefined;
  if (record && !problem) {
    counts.learn(record, "train", place);
    return true;
  }
  counts.refuse(problem ?? { reason: "shape", detail: "language: expected en or zh" }, place);
  // A pack stops at a role that its manifest does not have, before it looks at the rest.
  const named = NamedRecord.safeParse(content.value).data;
  if (named) counts.roles.of(nfc(named.role_id));
  return false;
}

// Of the role and all that is said.
function textKey(content: ManifestRecord["content"]): string {
  const record = LooseRecord.safeParse("value" in content ? content.value : undefined).data;
  const said = record?.turns?.flatMap(({ user_text, role_text }) => [user_text ?? "", role_text]) ?? [];
  return sha256([nfc(record?.role_id ?? ""), ...said.map(normalised)].join("\u0000")).slice(0, 24);
}
