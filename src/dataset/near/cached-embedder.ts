import { InternalError } from "../../core/errors.ts";
import { sha256 } from "../../core/hash.ts";
import type { Embedder } from "./embedder.ts";
import type { VectorCache } from "./vector-cache.ts";

// Between two writes: what a kill can cost.
const TEXTS_PER_WRITE = 256;

/**
 * Asks `embedder` only for texts that the cache does not hold; each part of the answer is on disk before the next is asked
 * for. `onEmbedded` is told how many texts were asked for. Give the cache the embedder's own fingerprint.
 */
export const cachedEmbedder = (
  embedder: Embedder,
  cache: VectorCache,
  onEmbedded: (texts: number) => void = () => undefined,
): Embedder => ({
  fingerprint: embedder.fingerprint,
  close: async () => embedder.close(),
  embed: async (texts, signal) => {
    const keys = texts.map((text) => sha256(text));
    const held = await cache.get(keys);
    const missing = new Map<string, string>();
    for (const [index, key] of keys.entries())
      if (held[index] === undefined) missing.set(key, texts[index] ?? "");
    const added = new Map<string, Float32Array>();
    const wanted = [...missing];
    for (let start = 0; start < wanted.length; start += TEXTS_PER_WRITE) {
      const part = wanted.slice(start, start + TEXTS_PER_WRITE);
      const vectors = await embedder.embed(
        part.map(([, text]) => text),
        signal,
      );
      const entries = part.map(([key], index) => ({ key, vector: known(vectors[index]) }));
      const stored = await cache.add(entries, signal);
      for (const [index, { key }] of entries.entries()) added.set(key, known(stored[index]));
      onEmbedded(part.length);
    }
    return keys.map((key, index) => known(held[index] ?? added.get(key)));
  },
});

function known(vector: Float32Array | undefined): Float32Array {
  if (vector === undefined) throw new InternalError("VECTOR_MISSING", "An embedder left out a text");
  return vector;
}
