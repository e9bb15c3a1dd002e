import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import { systemText, UserError } from "../../core/errors.ts";
import { exists, readJson } from "../../core/files.ts";
import { digestOf, sha256File } from "../../core/hash.ts";
import type { EmbedderFingerprint } from "./embedder.ts";

/** A sentence-transformers folder as far as embedding needs it. */
export interface ModelFolder {
  /** Folder of the transformer and its tokenizer. */
  readonly transformer: string;
  readonly pooling: "mean" | "cls";
  readonly maxTokens: number;
  readonly dimension: number;
  readonly lowerCase: boolean;
  readonly weightsSha256: string;
  readonly filesSha256: string;
}

const Modules = z.array(z.object({ path: z.string(), type: z.string() }));
const Config = z.object({ hidden_size: z.int().positive(), max_position_embeddings: z.int().positive() });
const Tokenizer = z.object({ model_max_length: z.number().positive().optional() });
const Transformer = z.object({
  max_seq_length: z.int().positive().nullish(),
  do_lower_case: z.boolean().optional(),
});
// `pooling_mode_max_tokens: true`, of which several may be set, or `pooling_mode: "mean"` in newer folders.
const FLAG = "pooling_mode_";
const Pooling = z.record(z.string(), z.unknown());

const KNOWN_MODULES = ["Transformer", "Pooling", "Normalize"];
const CONFIGURATION = [
  "config.json",
  "sentence_bert_config.json",
  "tokenizer.json",
  "tokenizer_config.json",
  "vocab.txt",
  "special_tokens_map.json",
  "added_tokens.json",
  "sentencepiece.bpe.model",
];

/**
 * Reads how a model is meant to be used and hashes all that its vectors depend on. A plain transformers folder counts as
 * mean pooling. UserErrors `EMBEDDING_MODEL_INVALID`, `EMBEDDING_MODEL_UNSUPPORTED` and those of `readJson`.
 */
export const readModelFolder = async (folder: string): Promise<ModelFolder> => {
  const modules = await optional(join(folder, "modules.json"), Modules);
  const kinds = (modules ?? []).map(({ type, path }) => ({ kind: type.split(".").at(-1) ?? type, path }));
  const odd = kinds.find(({ kind }) => !KNOWN_MODULES.includes(kind));
  if (odd !== undefined) throw unsupported(`${folder} has a module "${odd.kind}"`);
  const pathOf = (kind: string): string =>
    join(folder, kinds.find((module) => module.kind === kind)?.path ?? "");
  const transformer = pathOf("Transformer");
  if (!(await exists(join(transformer, "config.json"))))
    throw invalid(`${transformer} holds no model: config.json is missing`);
  const config = await readJson(join(transformer, "config.json"), Config);
  const tokenizer = await optional(join(transformer, "tokenizer_config.json"), Tokenizer);
  const settings = await optional(join(transformer, "sentence_bert_config.json"), Transformer);
  const limit = Math.min(tokenizer?.model_max_length ?? Infinity, config.max_position_embeddings);
  return {
    transformer,
    pooling: await poolingOf(pathOf("Pooling"), folder),
    maxTokens: settings?.max_seq_length ?? limit,
    dimension: config.hidden_size,
    lowerCase: settings?.do_lower_case ?? false,
    ...(await digests(transformer)),
  };
};

/** The fingerprint of a model that the payload runs. `model`: the name that people know it by. */
export const payloadFingerprint = (model: string, folder: ModelFolder): EmbedderFingerprint => ({
  engine: "payload-1",
  model,
  revision: null,
  weightsSha256: folder.weightsSha256,
  filesSha256: folder.filesSha256,
  dtype: "float32",
  pooling: folder.pooling,
  maxTokens: folder.maxTokens,
  dimension: folder.dimension,
});

const POOLINGS: Readonly<Record<string, "mean" | "cls">> = {
  mean: "mean",
  mean_tokens: "mean",
  cls: "cls",
  cls_token: "cls",
};

async function poolingOf(path: string, folder: string): Promise<"mean" | "cls"> {
  const settings = path === folder ? undefined : await optional(join(path, "config.json"), Pooling);
  if (settings === undefined) return "mean";
  const flags = Object.entries(settings).filter(([key, value]) => key.startsWith(FLAG) && value === true);
  const named = settings["pooling_mode"];
  const modes = typeof named === "string" ? [named] : flags.map(([key]) => key.slice(FLAG.length));
  const pooling = modes.length === 1 ? POOLINGS[modes[0] ?? ""] : undefined;
  if (pooling === undefined) throw unsupported(`${folder} pools by ${modes.join(" and ") || "nothing"}`);
  return pooling;
}

async function digests(folder: string): Promise<Pick<ModelFolder, "weightsSha256" | "filesSha256">> {
  const names = (await readdir(folder)).toSorted();
  // What the loader prefers.
  const safe = names.filter((name) => /^model.*\.safetensors$/.test(name));
  const weights = safe.length > 0 ? safe : names.filter((name) => /^pytorch_model.*\.bin$/.test(name));
  if (weights.length === 0)
    throw invalid(`${folder} holds no weights: no model.safetensors, no pytorch_model.bin`);
  const files = names.filter((name) => CONFIGURATION.includes(name));
  const hashed = await hashes(folder, weights);
  const [only] = hashed;
  return {
    weightsSha256: hashed.length === 1 && only !== undefined ? only.sha256 : digestOf(hashed),
    filesSha256: digestOf(await hashes(folder, files)),
  };
}

async function hashes(
  folder: string,
  names: readonly string[],
): Promise<{ readonly name: string; readonly sha256: string }[]> {
  const all = [];
  for (const name of names) {
    const path = join(folder, name);
    try {
      all.push({ name, sha256: await sha256File(path) });
    } catch (error) {
      throw new UserError("EMBEDDING_MODEL_INVALID", `${path} cannot be read: ${systemText(error)}`, {
        cause: error,
      });
    }
  }
  return all;
}

async function optional<Schema extends z.ZodType>(
  path: string,
  schema: Schema,
): Promise<z.output<Schema> | undefined> {
  return (await exists(path)) ? readJson(path, schema) : undefined;
}

function invalid(message: string): UserError {
  return new UserError("EMBEDDING_MODEL_INVALID", message, {
    hint: "name a folder with config.json, tokenizer files and model.safetensors, as the model is published",
  });
}

function unsupported(message: string): UserError {
  return new UserError(
    "EMBEDDING_MODEL_UNSUPPORTED",
    `${message}; mean and cls pooling of a transformer are known`,
    {
      hint: "use an endpoint that serves this model",
    },
  );
}
