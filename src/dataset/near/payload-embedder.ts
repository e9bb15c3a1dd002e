import { UserError } from "../../core/errors.ts";
import { exists } from "../../core/files.ts";
import { EmbedProcess } from "./embed-process.ts";
import type { Embedder } from "./embedder.ts";
import { payloadFingerprint, readModelFolder, type ModelFolder } from "./model-folder.ts";
import { unitVector } from "./unit-vector.ts";

export interface PayloadEmbedderOptions {
  /** The name that people know the model by, e.g. `sentence-transformers/all-MiniLM-L6-v2`. */
  readonly model: string;
  /** Its folder on this machine. */
  readonly folder: string;
  /** Python of the payload's environment. */
  readonly python: string;
  /** Folder that holds the package `understudy_payload`. */
  readonly payload: string;
  /** What the program inherits: PATH, HOME and the like; no secrets. */
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Default `auto`: a GPU when there is one. */
  readonly device?: "auto" | "cpu" | "cuda";
  /** Threads on a CPU, default 1: with others the last bits of a vector may differ. */
  readonly threads?: number;
  /** Seconds for one request of up to TEXTS_PER_REQUEST texts, loading included. Default 1,800: a large model, one slow core. */
  readonly secondsPerRequest?: number;
}

const TEXTS_PER_REQUEST = 64;

/**
 * Runs a local model in the payload's Python environment, without network. The program starts with the first text; when it
 * ends early the call fails with its last words and the next call starts it anew. UserErrors of `readModelFolder` and
 * `PYTHON_MISSING`; RemoteErrors of `EmbedProcess`.
 */
export const payloadEmbedder = async (options: PayloadEmbedderOptions): Promise<Embedder> => {
  const folder = await readModelFolder(options.folder);
  if (!(await exists(options.python)))
    throw new UserError("PYTHON_MISSING", `There is no Python at ${options.python}`);
  const program = new EmbedProcess({
    argv: [options.python, ...argumentsFor(folder, options)],
    environment: {
      ...options.environment,
      PYTHONPATH: options.payload,
      PYTHONUNBUFFERED: "1",
      PYTHONDONTWRITEBYTECODE: "1",
      HF_HUB_OFFLINE: "1",
    },
    milliseconds: (options.secondsPerRequest ?? 1800) * 1000,
    dimension: folder.dimension,
  });
  return {
    fingerprint: payloadFingerprint(options.model, folder),
    close: async () => program.close(),
    embed: async (texts, signal) => {
      const vectors: Float32Array[] = [];
      for (let start = 0; start < texts.length; start += TEXTS_PER_REQUEST) {
        const raw = await program.ask(texts.slice(start, start + TEXTS_PER_REQUEST), signal);
        for (const vector of raw) vectors.push(unitVector(vector, folder.dimension, "The embedding model"));
      }
      return vectors;
    },
  };
};

function argumentsFor(folder: ModelFolder, { device, threads }: PayloadEmbedderOptions): string[] {
  const settings = {
    "--model": folder.transformer,
    "--pooling": folder.pooling,
    "--max-tokens": folder.maxTokens,
    "--device": device ?? "auto",
    "--threads": threads ?? 1,
  };
  return [
    "-m",
    "understudy_payload.embed",
    ...Object.entries(settings).flatMap(([name, value]) => [name, String(value)]),
    ...(folder.lowerCase ? ["--lower-case"] : []),
  ];
}
