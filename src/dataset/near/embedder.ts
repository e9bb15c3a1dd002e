import { z } from "zod";
import { Sha256 } from "../schema.ts";

/** Everything that decides a text's vector, as far as it can be known. Goes into the lock and into the key of the cache. */
export const EmbedderFingerprint = z.strictObject({
  engine: z.string().describe("Code that ran the model; another version may give other vectors"),
  model: z.string().describe("Name of the model"),
  revision: z.string().nullable().describe("Which state of the model, where only its name is known"),
  weightsSha256: Sha256.nullable().describe("Digest of the weights; null behind an endpoint"),
  filesSha256: Sha256.nullable().describe("Digest of tokenizer and configuration; null behind an endpoint"),
  dtype: z.string().describe("Number format that the model computes in"),
  pooling: z.string().describe("How token vectors become one: mean or cls"),
  maxTokens: z.int().positive().nullable().describe("Longer texts are cut here; null: unknown"),
  dimension: z.int().positive().describe("Numbers per vector"),
});
export type EmbedderFingerprint = z.infer<typeof EmbedderFingerprint>;

/** Turns texts into unit vectors. Adapters: the payload's environment, an HTTP endpoint; the cache wraps either. */
export interface Embedder {
  readonly fingerprint: EmbedderFingerprint;
  /**
   * One vector per text, in their order: `fingerprint.dimension` float32 numbers of length 1. A vector depends on its own
   * text alone. Rejects with an UnderstudyError, or the signal's reason; nothing of the call counts then.
   */
  embed(texts: readonly string[], signal?: AbortSignal): Promise<Float32Array[]>;
  /** Ends what the embedder holds open. It may be used again afterwards. */
  close(): Promise<void>;
}
