import { expect, it } from "vitest";
import { place, SLURM, SSH } from "./place-support.ts";

const s3 = { models: "s3://bucket/models", data: "s3://bucket/data" };
const stage = { model: "s3", data: "s3" };

it.each([
  ["ssh", SSH],
  ["slurm", SLURM],
])(
  "what a node fetches from S3 has its address there, its digest, and the same place (%s)",
  (_, settings) => {
    const placed = place({ ...settings, stage, s3 });
    const fetched = placed.inputs.filter(({ from }) => from !== undefined);
    expect(fetched.map(({ from }) => from)).toEqual([
      "s3://bucket/data/greenroom/data/train-0.parquet",
      "s3://bucket/data/greenroom/data/train-1.parquet",
      "s3://bucket/data/greenroom/data/dev-0.parquet",
      "s3://bucket/models/Qwen--Qwen2.5-Omni-7B@abc/config.json",
      "s3://bucket/models/Qwen--Qwen2.5-Omni-7B@abc/model-1.safetensors",
    ]);
    expect(fetched.every(({ source, sha256 }) => source === null && sha256.length === 64)).toBe(true);
    const sent = place(settings);
    expect([placed.train, placed.dev, placed.model]).toEqual([sent.train, sent.dev, sent.model]);
    expect(placed.inputs.filter(({ from }) => from === undefined).map(({ role }) => role)).toEqual([
      "payload",
      "payload",
    ]);
  },
);

it("a model that is made here is sent, whatever the profile says", () => {
  const model = { folder: "/state/models/tiny", files: [], revision: "digest", hub: null };
  const placed = place(
    { ...SSH, stage, s3 },
    { model: { ...model, files: [{ path: "a", bytes: 1, sha256: "" }] } },
  );
  expect(placed.inputs.find(({ role }) => role === "model")).toMatchObject({
    source: "/state/models/tiny/a",
  });
});
