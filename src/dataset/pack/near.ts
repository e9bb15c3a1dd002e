import { InternalError, UserError } from "../../core/errors.ts";
import { sha256 } from "../../core/hash.ts";
import {
  nearDuplicates,
  nearTest,
  type Embedder,
  type NearDialogue,
  type NearRemoval,
  type NearResult,
  type NearWorld,
} from "../near/index.ts";
import type { Language, DatasetSpec, Drop, NearLock, Split } from "../schema.ts";
import type { Entry } from "./entry.ts";
import type { EmbeddingModel } from "../spec-schema.ts";
import { compare } from "../text.ts";
import { groupByRole, type SplitEntries } from "./split.ts";
import { perSplit } from "./statistics.ts";
import { dropOf } from "./survey.ts";

export type NearSpec = NonNullable<DatasetSpec["nearDuplicates"]>;

/** Opens the embedder of a language's model. Whoever packs knows where Python and the network are. */
export type OpenEmbedder = (model: EmbeddingModel) => Promise<Embedder>;

/** Finds dialogues that nearly repeat another one of their role. Close it. */
export interface NearFinder {
  /** The training pool without what nearly repeats something in it. */
  withoutRepetitions(entries: readonly Entry[], signal?: AbortSignal): Promise<NearPass>;
  /** Splits whose trainable rows are near to no test dialogue of their role. Test itself stays whole. */
  withoutNearTest(
    splits: SplitEntries,
    signal?: AbortSignal,
  ): Promise<{ readonly splits: SplitEntries; readonly drops: readonly Drop[] }>;
  /** What the lock says of all passes so far. */
  lock(): NearLock;
  close(): Promise<void>;
}

export interface NearPass {
  readonly kept: readonly Entry[];
  readonly drops: readonly Drop[];
}

type Because = NearLock["removed"][number]["because"];

/**
 * Opens the embedders that a spec asks for, of the languages that the roles speak. UserError `EMBEDDING_MODEL_MISSING`
 * for a language without a model; errors of `openEmbedder`.
 */
export const openNearFinder = async (
  spec: NearSpec,
  languages: ReadonlySet<Language>,
  openEmbedder: OpenEmbedder,
): Promise<NearFinder> => {
  const opened = await openEmbedders(spec, languages, openEmbedder);
  const record = recorder();
  const world = (signal: AbortSignal | undefined): NearWorld => ({
    settings: {
      rule: spec.rule,
      // The entries hold the text that the spec compares, and no other.
      text: "first_user",
      pools: spec.pools,
      thresholds: { en: thresholdOf(spec, "en"), zh: thresholdOf(spec, "zh") },
    },
    embedders: opened.byLanguage,
    signal,
  });
  return {
    withoutRepetitions: async (entries, signal) => {
      const gone = new Map<string, NearRemoval>();
      for (const [role, members] of groupByRole(entries.filter(({ pool }) => pool === "train"))) {
        const language = languageOf(members);
        const result = await nearDuplicates({ language, dialogues: members.map(nearOf) }, world(signal));
        record.add({ role, language, because: "near_duplicate" }, result);
        for (const removal of result.removals) gone.set(removal.id, removal);
      }
      return parted(
        entries,
        (entry) => (entry.pool === "train" ? gone.get(entry.id) : undefined),
        "near_duplicate",
      );
    },
    withoutNearTest: async (splits, signal) => {
      const gone = new Map<string, NearRemoval>();
      const tests = groupByRole(splits.test);
      for (const [role, members] of groupByRole(TRAINABLE.flatMap((split) => splits[split]))) {
        const language = languageOf(members);
        const test = (tests.get(role) ?? []).map(nearOf);
        const result = await nearTest({ language, train: members.map(nearOf), test }, world(signal));
        record.add({ role, language, because: "near_test" }, result);
        for (const removal of result.removals) gone.set(removal.id, removal);
      }
      const passes = perSplit((split) =>
        parted(splits[split], (entry) => (split === "test" ? undefined : gone.get(entry.id)), "near_test"),
      );
      return {
        splits: perSplit((split) => passes[split].kept),
        drops: TRAINABLE.flatMap((split) => passes[split].drops),
      };
    },
    lock: () => record.lock(spec, opened.byLanguage),
    close: async () => opened.close(),
  };
};

const TRAINABLE = ["train", "dev", "ood"] as const satisfies readonly Split[];

async function openEmbedders(
  spec: NearSpec,
  languages: ReadonlySet<Language>,
  openEmbedder: OpenEmbedder,
): Promise<{
  readonly byLanguage: Readonly<Record<Language, Embedder>>;
  readonly close: () => Promise<void>;
}> {
  const opened: Embedder[] = [];
  const open = async (language: Language): Promise<Embedder> => {
    if (!languages.has(language)) return nobody(language);
    const model = spec.models[language];
    if (!model)
      throw new UserError("EMBEDDING_MODEL_MISSING", `nearDuplicates.models names no model for ${language}`, {
        hint: "name one, or leave nearDuplicates out",
      });
    const embedder = await openEmbedder(model);
    opened.push(embedder);
    return embedder;
  };
  const close = async (): Promise<void> => {
    await Promise.all(opened.map(async (embedder) => embedder.close()));
  };
  try {
    return { byLanguage: { en: await open("en"), zh: await open("zh") }, close };
  } catch (error) {
    await close();
    throw error;
  }
}

// Stands where no role speaks the language; nothing asks it.
function nobody(language: Language): Embedder {
  return {
    fingerprint: {
      engine: "none",
      model: "none",
      revision: null,
      weightsSha256: null,
      filesSha256: null,
      dtype: "none",
      pooling: "none",
      maxTokens: null,
      dimension: 1,
    },
    embed: async () => {
      throw new InternalError(
        "EMBEDDING_UNEXPECTED",
        `A text in ${language} was to be compared, which no role speaks`,
      );
    },
    close: async () => undefined,
  };
}

interface Recorder {
  add(of: { role: string; language: Language; because: Because }, result: NearResult): void;
  lock(spec: NearSpec, embedders: Readonly<Record<Language, Embedder>>): NearLock;
}

function recorder(): Recorder {
  const removed: NearLock["removed"] = [];
  const compared: Record<Language, number> = { en: 0, zh: 0 };
  const vectors: Record<Language, string[]> = { en: [], zh: [] };
  const languageLock = (
    spec: NearSpec,
    language: Language,
    { fingerprint }: Embedder,
  ): NearLock["embedders"]["en"] =>
    vectors[language].length === 0
      ? null
      : {
          threshold: thresholdOf(spec, language),
          fingerprint,
          compared: compared[language],
          vectorsSha256: sha256(vectors[language].join("\n")),
        };
  return {
    add: ({ role, language, because }, result) => {
      removed.push(...result.removals.map((removal) => ({ ...removal, role, because })));
      compared[language] += result.compared;
      vectors[language].push(result.vectorsSha256);
    },
    lock: (spec, embedders) => ({
      rule: spec.rule,
      text: spec.text,
      pools: spec.pools,
      embedders: { en: languageLock(spec, "en", embedders.en), zh: languageLock(spec, "zh", embedders.zh) },
      removed: removed.toSorted((a, b) => compare(a.because, b.because) || compare(a.id, b.id)),
    }),
  };
}

const thresholdOf = (spec: NearSpec, language: Language): number => spec.models[language]?.threshold ?? 1;

const languageOf = ([first]: readonly Entry[]): Language => first?.language ?? "en";

const nearOf = ({ id, kind, nearText }: Entry): NearDialogue => ({
  id,
  kind,
  turns: [{ userText: nearText ?? "", roleText: "" }],
});

function parted(
  entries: readonly Entry[],
  removalOf: (entry: Entry) => NearRemoval | undefined,
  because: Because,
): NearPass {
  const drops = entries.flatMap((entry) => {
    const removal = removalOf(entry);
    if (!removal) return [];
    const how = removal.cosine === null ? "the same but for form" : `cosine ${removal.cosine.toFixed(4)}`;
    return [dropOf(entry, because, `near ${removal.pivot}: ${how}`)];
  });
  return { kept: entries.filter((entry) => removalOf(entry) === undefined), drops };
}
