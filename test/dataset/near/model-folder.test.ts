import { rm } from "node:fs/promises";
import { describe, expect, it } from "vitest";
import { payloadFingerprint, readModelFolder } from "../../../src/dataset/near/model-folder.ts";
import { temporaryProject } from "../../support/temporary-project.ts";

const CONFIG = { hidden_size: 1024, max_position_embeddings: 512 };
const MODULES = [
  { path: "", type: "sentence_transformers.models.Transformer" },
  { path: "1_Pooling", type: "sentence_transformers.models.Pooling" },
  { path: "2_Normalize", type: "sentence_transformers.models.Normalize" },
];

const folderWith = async (files: Readonly<Record<string, unknown>>): Promise<string> => {
  const project = await temporaryProject();
  for (const [name, value] of Object.entries(files))
    await project.write(`model/${name}`, typeof value === "string" ? value : JSON.stringify(value));
  return `${project.root}/model`;
};
const whole = {
  "config.json": CONFIG,
  "model.safetensors": "weights",
  "modules.json": MODULES,
  "1_Pooling/config.json": { word_embedding_dimension: 1024, pooling_mode_mean_tokens: true },
  "sentence_bert_config.json": { max_seq_length: 256, do_lower_case: false },
  "tokenizer_config.json": { model_max_length: 512 },
};

describe("the folder of an embedding model", () => {
  it("says pooling, limit and dimension", async () => {
    expect(await readModelFolder(await folderWith(whole))).toMatchObject({
      pooling: "mean",
      maxTokens: 256,
      dimension: 1024,
      lowerCase: false,
    });
  });

  it("that is a plain transformer is pooled by the mean and cut where tokenizer or positions end", async () => {
    const plain = { "config.json": CONFIG, "pytorch_model.bin": "weights" };
    expect(await readModelFolder(await folderWith(plain))).toMatchObject({ pooling: "mean", maxTokens: 512 });
    const short = { ...plain, "tokenizer_config.json": { model_max_length: 128 } };
    expect(await readModelFolder(await folderWith(short))).toMatchObject({ maxTokens: 128 });
  });

  it.each([
    [{ pooling_mode_cls_token: true, pooling_mode_mean_tokens: false }, "cls"],
    [{ pooling_mode: "cls" }, "cls"],
    [{ pooling_mode: "mean", embedding_dimension: 3 }, "mean"],
  ])("pools by %j: %s", async (settings, pooling) => {
    const folder = await folderWith({ ...whole, "1_Pooling/config.json": settings });
    expect(await readModelFolder(folder)).toMatchObject({ pooling });
  });

  it.each([
    [{ "1_Pooling/config.json": { pooling_mode_max_tokens: true } }, "pools by max_tokens"],
    [
      { "1_Pooling/config.json": { pooling_mode_max_tokens: true, pooling_mode_mean_tokens: true } },
      "pools by max_tokens and mean_tokens",
    ],
    [{ "1_Pooling/config.json": { pooling_mode_mean_tokens: false } }, "pools by nothing"],
    [{ "modules.json": [...MODULES, { path: "3", type: "x.Dense" }] }, 'has a module "Dense"'],
  ])("that needs what is not here is refused", async (files, message) => {
    const reading = readModelFolder(await folderWith({ ...whole, ...files }));
    await expect(reading).rejects.toMatchObject({
      code: "EMBEDDING_MODEL_UNSUPPORTED",
      message: expect.stringContaining(message),
    });
  });

  it.each([
    ["config.json", "EMBEDDING_MODEL_INVALID", "config.json is missing"],
    ["model.safetensors", "EMBEDDING_MODEL_INVALID", "holds no weights"],
    ["", "EMBEDDING_MODEL_INVALID", "config.json is missing"],
  ])("without %j is refused", async (name, code, message) => {
    const folder = await folderWith(whole);
    await rm(`${folder}/${name}`, { recursive: true });
    await expect(readModelFolder(folder)).rejects.toMatchObject({
      code,
      message: expect.stringContaining(message),
    });
  });

  it("with broken JSON names the file", async () => {
    const folder = await folderWith({ ...whole, "modules.json": "[{" });
    await expect(readModelFolder(folder)).rejects.toThrow(/modules\.json is not valid JSON/);
  });

  it("has another fingerprint when weights, tokenizer or limit change, and no other reason", async () => {
    const of = async (files: object): Promise<string> =>
      JSON.stringify(
        payloadFingerprint("M", await readModelFolder(await folderWith({ ...whole, ...files }))),
      );
    const same = await of({ "README.md": "words" });
    expect(await of({})).toBe(same);
    const others = await Promise.all(
      [
        { "model.safetensors": "other" },
        { "tokenizer.json": "{}" },
        { "sentence_bert_config.json": { max_seq_length: 128 } },
        { "1_Pooling/config.json": { pooling_mode: "cls" } },
        { "model-2.safetensors": "more" },
      ].map(of),
    );
    expect(new Set([same, ...others]).size).toBe(6);
  });
});
