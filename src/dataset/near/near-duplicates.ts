import { createHash } from "node:crypto";
import { DialogueKind, type Language } from "../schema.ts";
import { compare } from "../text.ts";
import { components } from "./components.ts";
import { distinctTexts, type SameText } from "./distinct-texts.ts";
import type { Embedder } from "./embedder.ts";
import { greedy } from "./greedy.ts";
import type { NearDialogue } from "./near-text.ts";
import type { NearRemoval, NearSettings } from "./settings.ts";
import { vectorTable, type VectorTable } from "./table.ts";

export interface NearWorld {
  readonly settings: NearSettings;
  /** The model of each language. */
  readonly embedders: Readonly<Record<Language, Embedder>>;
  readonly signal?: AbortSignal | undefined;
}

export interface NearResult {
  /** By id. */
  readonly removals: readonly NearRemoval[];
  /** Texts that were compared by cosine: those that are equal count once. */
  readonly compared: number;
  /**
   * Digest of the compared ids and vectors. Two machines whose results differ see by it whether their models gave other
   * vectors: the rest is the same everywhere.
   */
  readonly vectorsSha256: string;
}

const RULES = { greedy, components };

/**
 * Near-duplicates among the dialogues of one role, which are all that is held in memory. The order of the dialogues does
 * not matter. Rejects with the embedder's errors or the signal's reason; InternalError `NEAR_ID_TWICE`.
 */
export const nearDuplicates = async (
  role: { readonly language: Language; readonly dialogues: readonly NearDialogue[] },
  world: NearWorld,
): Promise<NearResult> => {
  const pools =
    world.settings.pools === "together"
      ? [role.dialogues]
      : DialogueKind.options.map((kind) => role.dialogues.filter((dialogue) => dialogue.kind === kind));
  const results: (Pool & { removals: NearRemoval[] })[] = [];
  for (const dialogues of pools) {
    const pool = await embedded(dialogues, role.language, world);
    results.push({ ...pool, removals: await removalsOf(pool, role.language, world) });
  }
  return {
    removals: results.flatMap(({ removals }) => removals).toSorted((a, b) => compare(a.id, b.id)),
    compared: results.reduce((sum, { table }) => sum + table.ids.length, 0),
    vectorsSha256: digestOfTables(results.map(({ table }) => table)),
  };
};

export interface Pool {
  readonly texts: readonly SameText[];
  /** A row per text, in the same order. */
  readonly table: VectorTable;
}

/** The distinct texts of some dialogues with their vectors. */
export const embedded = async (
  dialogues: readonly NearDialogue[],
  language: Language,
  { settings, embedders, signal }: NearWorld,
): Promise<Pool> => {
  const texts = distinctTexts(dialogues, settings.text);
  const vectors = await embedders[language].embed(
    texts.map(({ text }) => text),
    signal,
  );
  return {
    texts,
    table: vectorTable(texts.map(({ id }, index) => ({ id, vector: vector(vectors, index) }))),
  };
};

/** SHA-256 over the ids and vectors of some tables. */
export const digestOfTables = (tables: readonly VectorTable[]): string => {
  const hash = createHash("sha256");
  for (const { ids, values } of tables) {
    hash.update(JSON.stringify(ids));
    hash.update(new Uint8Array(values.buffer, values.byteOffset, values.byteLength));
  }
  return hash.digest("hex");
};

async function removalsOf(
  { texts, table }: Pool,
  language: Language,
  { settings, signal }: NearWorld,
): Promise<NearRemoval[]> {
  const rows = await RULES[settings.rule](table, settings.thresholds[language], signal);
  const byId = new Map(
    rows.map(({ row, pivot, cosine, cluster }): [string, NearRemoval] => {
      const id = name(table, row);
      return [id, { id, pivot: name(table, pivot), cosine, cluster: name(table, cluster) }];
    }),
  );
  // An equal text goes where the first of them goes: with it, or because of it.
  const equal = texts.flatMap(({ id: first, others }) =>
    others.map((id): NearRemoval => {
      const gone = byId.get(first);
      if (gone === undefined) return { id, pivot: first, cosine: null, cluster: first };
      if (settings.rule === "greedy") return { ...gone, id };
      return { id, pivot: first, cosine: null, cluster: gone.cluster };
    }),
  );
  return [...byId.values(), ...equal];
}

function name(table: VectorTable, row: number): string {
  return table.ids[row] ?? "";
}

function vector(vectors: readonly Float32Array[], index: number): Float32Array {
  return vectors[index] ?? new Float32Array();
}
