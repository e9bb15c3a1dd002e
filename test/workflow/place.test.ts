import { describe, expect, it } from "vitest";
import { file, LOCKS, pathsOf, place, requestFor, SLURM, SSH } from "./place-support.ts";

describe("a job of this machine", () => {
  it("lies where its parts lie, and sends nothing", () => {
    expect(place({ kind: "local" })).toEqual({
      runFolder: "/state/runs/run-1",
      payload: "/state/payloads/dddd",
      python: "/state/environments/x/bin/python",
      inputs: [],
      environment: null,
      secrets: [],
      model: { path: "/state/models/Qwen--Qwen2.5-Omni-7B@abc", revision: "Qwen/Qwen2.5-Omni-7B@abc" },
      train: ["data/train-0.parquet", "data/train-1.parquet"].map(
        (path) => `/project/datasets/packed/greenroom/${path}`,
      ),
      dev: ["/project/datasets/packed/greenroom/data/dev-0.parquet"],
      device: "auto",
    });
  });
});

describe.each([
  ["ssh", SSH],
  ["slurm", SLURM],
])("a job of a machine with folders of its own (%s)", (_, settings) => {
  it("has payload and shards under their digests, weights under their revision, and its run under its id", () => {
    const placed = place(settings);
    expect(placed.runFolder).toBe("/far/runs/run-1");
    expect(placed.payload).toBe(`/far/data/payloads/${"d".repeat(16)}`);
    expect(pathsOf(placed, "payload")).toEqual([
      `${placed.payload}/wrapper.sh`,
      `${placed.payload}/understudy_payload/train.py`,
    ]);
    expect(placed.train).toEqual([
      `/far/data/shards/${"3".repeat(64)}.parquet`,
      `/far/data/shards/${"4".repeat(64)}.parquet`,
    ]);
    expect(placed.dev).toEqual([`/far/data/shards/${"5".repeat(64)}.parquet`]);
    expect(pathsOf(placed, "data")).toEqual([...placed.train, ...placed.dev]);
    expect(placed.model).toEqual({
      path: "/far/models/Qwen--Qwen2.5-Omni-7B@abc",
      revision: "Qwen/Qwen2.5-Omni-7B@abc",
    });
    expect(pathsOf(placed, "model")).toEqual([
      `${placed.model.path}/config.json`,
      `${placed.model.path}/model-1.safetensors`,
    ]);
    expect(placed.inputs.find(({ path }) => path === placed.dev[0])).toEqual({
      role: "data",
      path: placed.dev[0],
      source: "/project/datasets/packed/greenroom/data/dev-0.parquet",
      bytes: 10,
      sha256: "5".repeat(64),
    });
    expect(placed.secrets).toEqual([]);
  });

  it("sends a file once that is the same as another", () => {
    const twice = requestFor(settings).data;
    const placed = place(settings, { data: { ...twice, dev: twice.train } });
    expect(pathsOf(placed, "data")).toHaveLength(2);
  });

  it("trains on GPUs unless the profile says otherwise, in an environment for them", () => {
    const placed = place(settings);
    expect(placed.device).toBe("cuda");
    expect(placed.environment).toMatchObject({ python: "python3", device: "cuda", wheelhouse: null });
    expect(placed.environment?.locks).toEqual(
      ["requirements-torch.lock", "requirements-cuda.lock", "requirements.lock"].map(
        (name) => `${placed.payload}/${name}`,
      ),
    );
    expect(placed.python).toBe(`${placed.environment?.folder}/bin/python`);
    expect(placed.environment?.folder).toMatch(/^\/far\/env\/[0-9a-f]{16}$/);
    const cpu = place({ ...settings, device: "cpu" });
    expect(cpu.device).toBe("cpu");
    expect(cpu.environment?.locks).toHaveLength(2);
    expect(cpu.environment?.folder).not.toBe(placed.environment?.folder);
  });

  it("shares an environment for as long as nothing in it changes", () => {
    const folder = (more: object, locks: Readonly<Record<string, string>> = LOCKS): string | undefined =>
      place({ ...settings, ...more }, { locks, runId: "other" }).environment?.folder;
    const usual = place(settings).environment?.folder;
    expect(folder({})).toBe(usual);
    // A setup line matters where it decides which python3 is meant.
    const others = [
      folder({ python: "python3.12" }),
      folder({ wheelhouse: "/far/wheels" }),
      folder({ setup: ["module load python/3.11"] }),
      folder({}, { ...LOCKS, "requirements.lock": "more\n" }),
    ];
    expect(new Set([usual, ...others]).size).toBe(5);
    const absolute = { python: "/usr/bin/python3.11" };
    expect(folder({ ...absolute, setup: ["module load cuda"] })).toBe(folder(absolute));
  });

  it("has no environment of its own in an image", () => {
    const container = { engine: "apptainer", image: "/far/images/understudy.sif" };
    expect(place({ ...settings, container })).toMatchObject({ environment: null, python: "python3" });
  });

  it.each(["existing", "node-download"])("sends no weights that are %s", (model) => {
    const placed = place({ ...settings, stage: { model } });
    expect(pathsOf(placed, "model")).toHaveLength(2);
    expect(placed.inputs.filter(({ role }) => role === "model").every(({ source }) => source === null)).toBe(
      true,
    );
    expect(placed.inputs.filter(({ role }) => role === "data").every(({ source }) => source !== null)).toBe(
      true,
    );
  });

  it("finds data that is there already under its own name", () => {
    const placed = place({ ...settings, stage: { data: "existing" } });
    expect(placed.train[0]).toBe("/far/data/greenroom/data/train-0.parquet");
    expect(placed.inputs.filter(({ role }) => role === "data")).toHaveLength(3);
    expect(placed.inputs.filter(({ role, source }) => role === "data" && source !== null)).toEqual([]);
  });

  it("finds in an image what the image brings", () => {
    const container = { engine: "apptainer", image: "/far/images/understudy.sif" };
    const placed = place({ ...settings, container, stage: { model: "image", data: "image" } });
    expect(placed.model.path).toBe("/opt/understudy/models/Qwen--Qwen2.5-Omni-7B@abc");
    expect(placed.dev).toEqual(["/opt/understudy/data/greenroom/data/dev-0.parquet"]);
    expect(placed.inputs.map(({ role }) => role)).toEqual(["payload", "payload"]);
  });

  it("sends a model that was made here, whatever the profile says of weights", () => {
    const tiny = {
      folder: "/state/models/tiny",
      files: [file("config.json", "8")],
      revision: "f".repeat(64),
      hub: null,
    };
    const placed = place({ ...settings, stage: { model: "existing" } }, { model: tiny });
    expect(placed.model.path).toBe(`/far/models/${"f".repeat(64)}`);
    expect(placed.inputs.find(({ role }) => role === "model")?.source).toBe("/state/models/tiny/config.json");
  });
});
