import { describe, expect, it } from "vitest";
import { placeProblems } from "../../src/workflow/place-problems.ts";
import { channelsOf } from "../../src/workflow/place-sagemaker.ts";
import { pathsOf, place, profile, SAGEMAKER, SLURM, SSH } from "./place-support.ts";

describe("a job of SageMaker", () => {
  it("names keys of the bucket for what is sent, and paths of the container for what is read", () => {
    const placed = place(SAGEMAKER);
    expect(pathsOf(placed, "payload")[1]).toBe(
      `understudy/payloads/${"d".repeat(16)}/understudy_payload/train.py`,
    );
    expect(pathsOf(placed, "data")).toEqual(
      ["train-0", "train-1", "dev-0"].map((name) => `understudy/data/${"e".repeat(16)}/data/${name}.parquet`),
    );
    expect(pathsOf(placed, "model")[0]).toBe("understudy/models/Qwen--Qwen2.5-Omni-7B@abc/config.json");
    expect(placed).toMatchObject({
      runFolder: "/opt/ml/checkpoints",
      payload: "/opt/ml/input/data/payload",
      python: "python3",
      environment: null,
      model: { path: "/opt/ml/input/data/model" },
      train: ["/opt/ml/input/data/data/data/train-0.parquet", "/opt/ml/input/data/data/data/train-1.parquet"],
      dev: ["/opt/ml/input/data/data/data/dev-0.parquet"],
      device: "cuda",
    });
  });

  it("reads every file through the channel that its key is in", () => {
    const placed = place(SAGEMAKER);
    const named = { payload: "d".repeat(64), data: "e".repeat(64), model: "Qwen/Qwen2.5-Omni-7B@abc" };
    const channels = channelsOf({ prefix: "understudy" }, named);
    const seen = placed.inputs.map(({ role, path }) =>
      path.replace(channels[role].key, channels[role].folder),
    );
    expect(seen).toEqual(
      expect.arrayContaining([...placed.train, ...placed.dev, `${placed.model.path}/config.json`]),
    );
    expect(new Set(Object.values(channels).map(({ key }) => key)).size).toBe(3);
  });

  it.each(["", "/", "a/b", "/a/b/"])("keeps keys clean for the prefix %j", (prefix) => {
    for (const { path } of place({ ...SAGEMAKER, prefix }).inputs) expect(path).not.toMatch(/^\/|\/\/|\/$/);
  });

  it("sends nothing but code to a file system that is mounted", () => {
    const input = { from: "fsx", fileSystemId: "fs-1", directoryPath: "/fsx/understudy" };
    const sent = place({ ...SAGEMAKER, input }).inputs.filter(({ source }) => source !== null);
    expect(new Set(sent.map(({ role }) => role))).toEqual(new Set(["payload"]));
  });

  it("uses the interpreter of an image that brings the payload's packages", () => {
    expect(place({ ...SAGEMAKER, imageHasPayload: true }).python).toBe("/opt/understudy/env/bin/python");
  });
});

describe("placeProblems", () => {
  const hub = { kind: "hub", id: "a/b", revision: "c" } as const;
  const tiny = { kind: "tiny", seed: 1 } as const;
  const container = { engine: "apptainer", image: "/i.sif" };

  it.each([
    [{ ...SSH, stage: { data: "image" } }, hub, ["STAGE_IMAGE"]],
    [{ ...SSH, container, stage: { data: "image", model: "image" } }, hub, []],
    [{ ...SLURM, container, stage: { model: "image" } }, tiny, ["STAGE_TINY"]],
    [{ ...SLURM, stage: { model: "image", data: "image" } }, tiny, ["STAGE_IMAGE", "STAGE_TINY"]],
    [SSH, tiny, []],
    [{ kind: "local" }, tiny, []],
    [SAGEMAKER, hub, []],
  ])("of %j with %j are %j", (settings, model, codes) => {
    expect(placeProblems(profile(settings), model).map(({ code }) => code)).toEqual(codes);
  });
});
