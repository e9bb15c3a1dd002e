import type { Embedder } from "../../../src/dataset/near/index.ts";
import type { NearDialogue } from "../../../src/dataset/near/near-text.ts";
import { unitVector } from "../../../src/dataset/near/unit-vector.ts";

/** The same numbers between -0.5 and 0.5 for the same seed. */
export const randomFrom = (seed: number): (() => number) => {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32 - 0.5;
  };
};

export const FINGERPRINT = {
  engine: "test",
  model: "Org/Model v1",
  revision: null,
  weightsSha256: null,
  filesSha256: null,
  dtype: "float32",
  pooling: "mean",
  maxTokens: null,
  dimension: 2,
} as const;

/** A vector in the plane. */
export const atDegrees = (degrees: number): Float32Array => {
  const angle = (degrees * Math.PI) / 180;
  return unitVector([Math.cos(angle), Math.sin(angle)], 2, "the test");
};

/** Reads the angle of a text from the number in it, e.g. `20 degrees`; `asked` collects the texts. */
export const compass = (asked: string[] = []): Embedder => ({
  fingerprint: FINGERPRINT,
  close: async () => undefined,
  embed: async (texts) => {
    asked.push(...texts);
    return texts.map((text) => atDegrees(Number(/-?\d+(\.\d+)?/.exec(text)?.[0])));
  },
});

/** A dialogue of one turn, or of two that differ in the second. */
export const dialogue = (id: string, userText: string, second?: string): NearDialogue => {
  const first = { userText, roleText: "Well." };
  const turns = second === undefined ? [first] : [first, { userText: second, roleText: "Quite." }];
  return { id, kind: second === undefined ? "single" : "multi", turns };
};
