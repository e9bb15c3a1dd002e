import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { prepareModel } from "../../src/workflow/model.ts";
import { makeStage } from "./support.ts";

const HUB = { kind: "hub", id: "Qwen/Qwen2.5-Omni-7B", revision: "abc123" } as const;

describe("prepareModel", () => {
  it("tells missing weights before any environment is made, with the command that fetches them", async () => {
    const stage = await makeStage();
    const shop = await stage.shop();
    const asked: string[] = [];
    const from = {
      python: async () => {
        asked.push("python");
        return "python3";
      },
      payload: { folder: shop.payload, digest: "d" },
    };
    await expect(prepareModel(shop, HUB, from)).rejects.toMatchObject({
      code: "MODEL_MISSING",
      hint: expect.stringContaining("hf download Qwen/Qwen2.5-Omni-7B --revision abc123"),
    });
    const folder = join(stage.project.state, "models", "Qwen--Qwen2.5-Omni-7B@abc123");
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, "config.json"), "{}");
    expect(await prepareModel(shop, HUB, from)).toEqual({
      path: folder,
      revision: "Qwen/Qwen2.5-Omni-7B@abc123",
    });
    expect(asked).toEqual([]);
  });
});
