import { describe, expect, it } from "vitest";
import { packDataset, readLock, type OpenEmbedder } from "../../src/dataset/index.ts";
import { makeCorpus, makeProject, projectWith, turnAt, writeCorpus, type Corpus } from "./corpus.ts";
import { compass } from "./near/support.ts";

const SINGLE = "train/single/Thor.json";
const at = (corpus: Corpus, file: string, dialogue: number, degrees: number): unknown =>
  Object.assign(turnAt(corpus, file, { dialogue, turn: 0 }), { user: `${degrees} degrees` });
const MODEL = { model: "test", folder: "nowhere" };

// Every first question is a direction of its own, 40 degrees from the next one of its role; then three are moved.
const directed = (corpus: Corpus): void => {
  let degrees = 0;
  for (const [file, dialogues] of corpus.dialogues)
    for (const index of dialogues.keys()) at(corpus, file, index, (degrees += 40));
  // A chain: 100 is near to 110, and 110 to 120, but 100 not to 120.
  for (const [index, angle] of [100, 112, 124, 200].entries()) at(corpus, SINGLE, index, angle);
  at(corpus, "train/multi/Thor.json", 0, 112);
  at(corpus, "train/multi/Thor.json", 1, 300);
  at(corpus, "test_data/single_turn/Thor.json", 0, 203);
  at(corpus, "test_data/single_turn/Thor.json", 1, 20);
  for (const [index, angle] of [60, 340].entries())
    at(corpus, "test_data/multi_turn/Thor.json", index, angle);
  Object.assign(corpus.spec["splits"] ?? {}, { devPerRole: 0 });
  corpus.spec["nearDuplicates"] = {
    models: { en: { ...MODEL, threshold: 0.97 }, zh: { ...MODEL, threshold: 0.99 } },
  };
};
const openEmbedder: OpenEmbedder = async () => compass();
const thors = (corpus: Corpus): void => {
  directed(corpus);
  Object.assign(corpus.spec["nearDuplicates"] ?? {}, { pools: "together", rule: "components" });
};

describe("near-duplicates in a pack", () => {
  it("leave train, each with what it resembles; those near a test dialogue too, and the test stays whole", async () => {
    const project = await projectWith(directed);
    const { lock } = await packDataset({ project, name: "small", openEmbedder });
    const near = lock.nearDuplicates?.removed.filter(({ role }) => role === "thor") ?? [];
    // Keep-first by id: the end that comes first, or the middle, which takes both ends.
    expect(near.filter(({ because }) => because === "near_duplicate").length).toBeGreaterThanOrEqual(1);
    for (const { id, pivot, cosine, because } of near) {
      expect(id).toMatch(/^thor-single-/);
      expect(pivot).not.toBe(id);
      if (because === "near_duplicate") expect(cosine).toBeCloseTo(Math.cos((12 * Math.PI) / 180), 6);
    }
    const nearTest = near.filter(({ because }) => because === "near_test");
    expect(nearTest).toHaveLength(1);
    expect(nearTest[0]?.cosine).toBeCloseTo(Math.cos((3 * Math.PI) / 180), 6);
    const told = lock.drops.list.filter(({ role, reason }) => role === "Thor" && reason === "near_test");
    expect(told.map(({ detail }) => detail)).toEqual([`near ${nearTest[0]?.pivot}: cosine 0.9986`]);
    expect(lock.drops.byReason["near_test"]).toBe(
      lock.nearDuplicates?.removed.filter(({ because }) => because === "near_test").length,
    );
    expect(lock.splits.test.rows).toBe(12);
    expect(lock.nearDuplicates?.embedders.en).toMatchObject({
      threshold: 0.97,
      fingerprint: { model: "Org/Model v1" },
    });
    expect(await readLock(project, "small")).toEqual(lock);
  });

  it("are the same for any order of the source", async () => {
    const first = await projectWith(thors);
    const { lock } = await packDataset({ project: first, name: "small", openEmbedder });
    // The chain and the multi-turn dialogue that asks the same are one cluster, of which one is kept.
    const removed = lock.nearDuplicates?.removed.filter(
      ({ role, because }) => role === "thor" && because === "near_duplicate",
    );
    expect(removed).toHaveLength(3);
    expect(new Set(removed?.map(({ cluster }) => cluster)).size).toBe(1);
    const corpus = makeCorpus();
    thors(corpus);
    corpus.dialogues = new Map([...corpus.dialogues].map(([path, list]) => [path, list.toReversed()]));
    const other = await makeProject();
    await writeCorpus(other, corpus);
    expect((await packDataset({ project: other, name: "small", openEmbedder })).lock).toEqual(lock);
  });

  it("are not looked for without a model for a language, or without anything that compares", async () => {
    const project = await projectWith((corpus) => {
      directed(corpus);
      corpus.spec["nearDuplicates"] = { models: { en: { ...MODEL, threshold: 0.97 } } };
    });
    await expect(packDataset({ project, name: "small", openEmbedder })).rejects.toMatchObject({
      code: "EMBEDDING_MODEL_MISSING",
      message: "nearDuplicates.models names no model for zh",
    });
    await expect(packDataset({ project, name: "small" })).rejects.toMatchObject({ code: "EMBEDDER_MISSING" });
  });
});
