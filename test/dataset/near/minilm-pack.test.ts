import { resolve } from "node:path";
import { expect, it } from "vitest";
import { packDataset, payloadEmbedder } from "../../../src/dataset/index.ts";
import { projectWith, turnAt, type Corpus } from "../corpus.ts";
import { miniLmSuite } from "./minilm.ts";

const payload = resolve(import.meta.dirname, "../../../launchers/payload");
const ASKED: Readonly<Record<string, readonly string[]>> = {
  "train/single/Thor.json": [
    "Who is your brother?",
    "Who's your brother?",
    "What is the capital of France?",
    "How many stars are in the sky?",
  ],
  "train/multi/Thor.json": ["Tell me how to forge a sword.", "Do you like cheese?"],
  "test_data/single_turn/Thor.json": ["How many stars are there in the sky?", "Can you swim?"],
  "test_data/multi_turn/Thor.json": ["Where did you sleep last night?", "Why is the hammer so heavy?"],
};

miniLmSuite("a pack with the real all-MiniLM-L6-v2", ({ python, folder }) => {
  it(
    "leaves out a question asked twice, and one near to a test question, and keeps all others",
    { timeout: 240_000 },
    async () => {
      const ask = (corpus: Corpus): void => {
        for (const [file, questions] of Object.entries(ASKED))
          for (const [dialogue, user] of questions.entries())
            Object.assign(turnAt(corpus, file, { dialogue, turn: 0 }), { user });
        const model = { model: "sentence-transformers/all-MiniLM-L6-v2", folder, threshold: 0.9 };
        // One language has the model; the other needs one too.
        corpus.spec["nearDuplicates"] = { models: { en: model, zh: { ...model, threshold: 0.99 } } };
      };
      const project = await projectWith(ask);
      const environment = { PATH: process.env["PATH"], HOME: "/nonexistent" };
      const { lock } = await packDataset({
        project,
        name: "small",
        openEmbedder: async (model) => {
          if (!("folder" in model)) throw new Error("the spec names a folder");
          return payloadEmbedder({ ...model, python, payload, environment, device: "cpu" });
        },
      });
      const thor = lock.nearDuplicates?.removed.filter(({ role }) => role === "thor") ?? [];
      expect(thor.map(({ because }) => because).toSorted()).toEqual(["near_duplicate", "near_test"]);
      for (const { cosine } of thor) expect(cosine).toBeGreaterThan(0.9);
      expect(lock.nearDuplicates?.embedders.en).toMatchObject({
        fingerprint: { engine: "payload-1", model: "sentence-transformers/all-MiniLM-L6-v2", dimension: 384 },
      });
      expect(lock.splits.test.rows).toBe(12);
    },
  );
});
