import { EventEmitter, once } from "node:events";
import { readFileSync } from "node:fs";
import { readdir, readFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { z } from "zod";
import { systemClock } from "../../../src/core/clock.ts";
import { parseJson } from "../../../src/core/files.ts";
import {
  cachedEmbedder,
  nearDuplicates,
  NearSettings,
  payloadEmbedder,
  VectorCache,
  type Embedder,
} from "../../../src/dataset/near/index.ts";
import { temporaryProject } from "../../support/temporary-project.ts";
import { miniLmSuite } from "./minilm.ts";
import { dialogue } from "./support.ts";

const payload = resolve(import.meta.dirname, "../../../launchers/payload");
const golden = parseJson(
  readFileSync(join(import.meta.dirname, "minilm.json"), "utf8"),
  z.object({ weightsSha256: z.string(), texts: z.array(z.string()), vectors: z.array(z.string()) }),
  "minilm.json",
);
const reference = golden.vectors.map((text) => {
  const bytes = Buffer.from(text, "base64");
  return Array.from({ length: 384 }, (_, index) => bytes.readFloatLE(4 * index));
});
const cosine = (a: ArrayLike<number>, b: ArrayLike<number>): number =>
  Array.from(a).reduce((sum, value, index) => sum + value * (b[index] ?? 0), 0);

// The process of this machine that runs the embedder, found by what only its command line holds.
const embedProcess = async (folder: string): Promise<number> => {
  for (const name of await readdir("/proc")) {
    if (!/^\d+$/.test(name)) continue;
    const command = await readFile(`/proc/${name}/cmdline`, "latin1").catch(() => "");
    if (command.includes("understudy_payload.embed") && command.includes(folder)) {
      const status = await readFile(`/proc/${name}/status`, "latin1").catch(() => "");
      if (status.includes(`PPid:\t${process.pid}\n`)) return Number(name);
    }
  }
  throw new Error("no embedder is running");
};

miniLmSuite("the real all-MiniLM-L6-v2 in the payload's environment", ({ python, folder }) => {
  const model = "sentence-transformers/all-MiniLM-L6-v2";
  const environment = { PATH: process.env["PATH"], HOME: "/nonexistent" };
  let embedder: Embedder;
  beforeAll(async () => {
    embedder = await payloadEmbedder({ model, folder, python, payload, environment, device: "cpu" });
  });
  afterAll(async () => embedder.close());

  it("is known by weights, tokenizer, pooling and limit", () => {
    expect(embedder.fingerprint).toEqual({
      engine: "payload-1",
      model,
      revision: null,
      weightsSha256: golden.weightsSha256,
      filesSha256: expect.stringMatching(/^[0-9a-f]{64}$/),
      dtype: "float32",
      pooling: "mean",
      maxTokens: 256,
      dimension: 384,
    });
  });

  it("gives the vectors that sentence-transformers gives, to 1e-5, long and empty texts included", async () => {
    const vectors = await embedder.embed(golden.texts);
    expect(vectors).toHaveLength(golden.texts.length);
    for (const [row, vector] of vectors.entries()) {
      const worst = Math.max(
        ...Array.from(vector, (value, at) => Math.abs(value - (reference[row]?.[at] ?? 9))),
      );
      expect(worst, golden.texts[row]?.slice(0, 40)).toBeLessThan(1e-5);
      expect(cosine(vector, vector)).toBeCloseTo(1, 6);
    }
  });

  it("gives the same bits for a text alone and among others", async () => {
    const many = [...golden.texts, ...Array.from({ length: 40 }, (_, index) => "sword ".repeat(index))];
    const together = await embedder.embed(many);
    const [alone] = await embedder.embed([many[1] ?? ""]);
    expect(alone).toEqual(together[1]);
    expect((await embedder.embed(many.toReversed())).toReversed()).toEqual(together);
  });

  it("finds the questions of a role that say the same", async () => {
    const dialogues = [
      dialogue("1", "What is your favorite weapon in battle?"),
      dialogue("2", "Who taught you how to fight in battle?"),
      dialogue("3", "Do you miss your mother?"),
      dialogue("4", "Do you miss your mom?"),
      dialogue("5", "Do you ever miss your mother?"),
      dialogue("6", "How do you take your tea?"),
    ];
    const settings = NearSettings.parse({});
    const found = await nearDuplicates(
      { language: "en", dialogues },
      { settings, embedders: { en: embedder, zh: embedder } },
    );
    expect(found.removals.map(({ id, pivot }) => [id, pivot])).toEqual([
      ["4", "3"],
      ["5", "3"],
    ]);
    expect(found.compared).toBe(6);
  });

  it("is asked again from where it was when its process is killed in the middle", async () => {
    const project = await temporaryProject();
    const texts = Array.from(
      { length: 2000 },
      (_, index) => `Question ${index} about the sword of your father`,
    );
    const firstPart = new EventEmitter();
    const kept = once(firstPart, "kept");
    const cache = (): VectorCache =>
      new VectorCache(join(project.state, "e"), embedder.fingerprint, systemClock);
    const running = cachedEmbedder(embedder, cache(), () => firstPart.emit("kept")).embed(texts);
    const failed = expect(running).rejects.toMatchObject({
      code: "EMBEDDER_ENDED",
      message: expect.stringContaining("was ended by SIGKILL"),
      hint: expect.stringContaining("what was embedded before is kept"),
    });
    await kept;
    process.kill(await embedProcess(folder), "SIGKILL");
    await failed;
    let asked = 0;
    const wanted = texts.slice(0, 300);
    const again = await cachedEmbedder(embedder, cache(), (count) => (asked += count)).embed(wanted);
    expect(asked).toBeLessThanOrEqual(300 - 256);
    expect(again.slice(280)).toEqual(await embedder.embed(wanted.slice(280)));
    // Warm: nobody is asked, not even the model's program.
    const nobody: Embedder = { ...embedder, embed: async () => Promise.reject(new Error("asked")) };
    expect(await cachedEmbedder(nobody, cache()).embed(wanted)).toEqual(again);
  });
});
