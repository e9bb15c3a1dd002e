import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import { fileLines } from "../json/lines.ts";
import { Language } from "../schema.ts";
import { csvDialogues } from "../source/csv.ts";
import { parquetFiles, poolOfFile } from "../source/parquet-files.ts";
import { openTable, readRows, type ParquetTable } from "../source/parquet-table.ts";
import { withTurns } from "../source/parquet-turns.ts";
import { poolOf } from "../source/plain-record.ts";
import { readOrRefuse } from "../source/release.ts";
import type { Found } from "../source/source.ts";
import { compare, nfc } from "../text.ts";
import { learnLanguage, RoleTable, type RoleFacts } from "./role-facts.ts";
import type { Scan, ScanOptions } from "./scan.ts";
import { isSpeechRole } from "./speechrole.ts";

const Turn = z.looseObject({ role_text: z.string() });
const LooseRecord = z.looseObject({
  role_id: z.string().min(1),
  role_name: z.string().nullish(),
  role_source: z.string().nullish(),
  language: Language.nullish(),
  split: z.string().nullish(),
  num_turns: z.coerce.number().nullish(),
  turns: z.array(Turn).nullish(),
});

interface Counts {
  readonly roles: RoleTable;
  unusable: number;
}

/** Reads the manifests of a folder and says what is in them. */
export const scanManifest = async (folder: string, options: ScanOptions): Promise<Scan> => {
  const counts: Counts = { roles: new RoleTable(), unusable: 0 };
  const names = (await readdir(folder)).filter(isManifest).toSorted(compare);
  for (const name of names) {
    const path = join(folder, name);
    if (name.toLowerCase().endsWith(".csv"))
      for await (const { raw } of csvDialogues(path, options.signal)) learn(raw, "train", counts);
    else
      for await (const { bytes, start } of fileLines(path, { signal: options.signal })) {
        const read = readOrRefuse(bytes, start, (value) => ({ value }));
        learn("value" in read ? read.value : undefined, "train", counts);
      }
    options.onProgress?.(name);
  }
  return scanOf("manifest", counts);
};

/** True for a file name of a manifest. */
export const isManifest = (name: string): boolean => /^[^.].*\.(?:jsonl|ndjson|csv)$/i.test(name);

/** Reads the tables of a folder, all but a few rows without their turns, and says what is in them. */
export const scanParquet = async (folder: string, options: ScanOptions): Promise<Scan> => {
  const counts: Counts = { roles: new RoleTable(), unusable: 0 };
  const files = await parquetFiles(folder);
  for (const name of files.names) {
    const table = await openTable(join(files.base, name));
    for (const { from, to } of table.groups) {
      options.signal?.throwIfAborted();
      const rows = await readRows(table, { from, to }, SHORT_COLUMNS);
      for (const [offset, row] of rows.entries())
        await learnRow(row, { table, index: from + offset, pool: poolOfFile(name) }, counts);
    }
    options.onProgress?.(name);
  }
  return scanOf("parquet", counts);
};

const SHORT_COLUMNS = ["role_id", "role_name", "role_source", "language", "split", "num_turns"];

// Of a role whose language nothing says, the first row is read whole.
async function learnRow(
  row: Readonly<Record<string, unknown>>,
  {
    table,
    index,
    pool,
  }: { readonly table: ParquetTable; readonly index: number; readonly pool: Found["pool"] },
  counts: Counts,
): Promise<void> {
  const roleId = row["role_id"];
  const isKnown =
    typeof roleId === "string" && (typeof row["language"] === "string" || letters(counts, roleId) > 0);
  if (isKnown) return learn(row, pool, counts);
  const [whole] = await readRows(table, { from: index, to: index + 1 });
  learn(whole && withTurns(whole), pool, counts);
}

function letters({ roles }: Counts, roleId: string): number {
  const { han, latin } = roles.of(nfc(roleId));
  return han + latin;
}

function learn(raw: unknown, pool: Found["pool"], counts: Counts): void {
  const parsed = LooseRecord.safeParse(raw);
  if (!parsed.success) {
    counts.unusable++;
    return;
  }
  const { role_id, split, num_turns, turns } = parsed.data;
  const facts = counts.roles.of(nfc(role_id));
  // In a table of ours the role is named by its slug already.
  if (/^[a-z0-9_]+$/.test(role_id)) facts.slug = role_id;
  describe(facts, parsed.data);
  const length = turns?.length ?? num_turns ?? 0;
  facts.dialogues[poolOf(split ?? "") ?? pool][length > 1 ? "multi" : "single"]++;
  facts.turns += length;
  for (const { role_text } of turns ?? []) learnLanguage(facts, role_text);
}

// The first record that says it counts.
function describe(facts: RoleFacts, record: z.infer<typeof LooseRecord>): void {
  facts.displayName ??= record.role_name ?? undefined;
  facts.source ??= record.role_source ?? undefined;
  facts.language ??= record.language ?? undefined;
}

function scanOf(format: "manifest" | "parquet", { roles, unusable }: Counts): Scan {
  const all = roles.all();
  return {
    format,
    roles: all,
    forms: new Map(),
    unusable,
    defects: [],
    isSpeechRole: isSpeechRole(all.map(({ stem }) => stem)),
  };
}
