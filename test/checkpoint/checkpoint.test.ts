import { mkdir, mkdtemp, rm, truncate, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import {
  findCheckpoint,
  listCheckpoints,
  manifestOf,
  MARKER,
  registerCheckpoint,
  scanCheckpoints,
  selectCheckpoints,
  verifyCheckpoint,
  weightsDigest,
  type CheckpointManifest,
  type CompleteMarker,
} from "../../src/checkpoint/index.ts";
import { sha256 } from "../../src/core/hash.ts";
import { projectAt } from "../../src/core/project.ts";
import { removeFolder } from "../support/remove-folder.ts";

let root: string;
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), "checkpoint-"));
});
afterEach(async () => {
  removeFolder(root);
});

/** A real safetensors file with one float32 tensor of `values` numbers. */
const safetensors = (values: number): Buffer => {
  const header = Buffer.from(
    JSON.stringify({ w: { dtype: "F32", shape: [values], data_offsets: [0, values * 4] } }),
  );
  const length = Buffer.alloc(8);
  length.writeBigUInt64LE(BigInt(header.length));
  return Buffer.concat([length, header, Buffer.alloc(values * 4, 7)]);
};

const save = async (
  step: number,
  options: { evalLoss?: number | null; values?: number } = {},
): Promise<string> => {
  const folder = join(root, "output", `checkpoint-${step}`);
  await mkdir(folder, { recursive: true });
  const weights = safetensors(options.values ?? 8);
  const state = Buffer.from(`state of ${step}`);
  await writeFile(join(folder, "adapter_model.safetensors"), weights);
  await writeFile(join(folder, "optimizer.pt"), state);
  const marker: CompleteMarker = {
    schemaVersion: 1,
    step,
    epoch: step / 8,
    kind: "adapter",
    worldSize: 1,
    trainLoss: 3,
    evalLoss: options.evalLoss === undefined ? 2 : options.evalLoss,
    files: {
      "adapter_model.safetensors": { bytes: weights.length, sha256: sha256(weights) },
      "optimizer.pt": { bytes: state.length, sha256: sha256(state) },
    },
  };
  await writeFile(join(folder, MARKER), JSON.stringify(marker));
  return folder;
};

const manifests = async (): Promise<CheckpointManifest[]> =>
  (await scanCheckpoints(join(root, "output"))).flatMap((found) =>
    found.complete
      ? [
          manifestOf(
            found,
            {
              id: "run-1",
              attempt: 1,
              parents: { recipeDigest: "r", datasetLockDigest: "d", trainingRoles: ["a"], baseModel: "tiny" },
            },
            { at: "2026-01-01T00:00:00.000Z", digests: true },
          ),
        ]
      : [],
  );

const markerOf = async (step: number): Promise<CompleteMarker> => {
  const found = (await scanCheckpoints(join(root, "output"))).find((one) => one.step === step);
  if (!found?.complete) throw new Error("not complete");
  return found.marker;
};

describe("scanCheckpoints", () => {
  it("orders by step as a number and tells half-written ones", async () => {
    await save(1000);
    await save(500);
    await rm(join(await save(1500), MARKER));
    const found = await scanCheckpoints(join(root, "output"));
    expect(found.map(({ step, complete }) => [step, complete])).toEqual([
      [500, true],
      [1000, true],
      [1500, false],
    ]);
    expect(found[2]).toMatchObject({ reason: expect.stringContaining("not finished") });
  });

  it("does not believe a marker of another step or with broken JSON", async () => {
    const folder = await save(10);
    const other = await save(20);
    await writeFile(join(folder, MARKER), '{"schemaVersion":1,');
    await writeFile(join(other, MARKER), JSON.stringify({ ...(await markerFile(other)), step: 10 }));
    expect((await scanCheckpoints(join(root, "output"))).map((one) => one.complete)).toEqual([false, false]);
  });

  it("finds nothing where nothing is", async () => {
    expect(await scanCheckpoints(join(root, "nowhere"))).toEqual([]);
  });
});

const markerFile = async (folder: string): Promise<CompleteMarker> =>
  markerOf(Number(/(\d+)$/.exec(folder)?.[1] ?? Number.NaN));

describe("verifyCheckpoint", () => {
  it("accepts what was written", async () => {
    const folder = await save(5);
    expect(await verifyCheckpoint(folder, await markerOf(5), { digests: true })).toEqual([]);
  });

  it("names a missing, a cut and an edited file", async () => {
    const folder = await save(5);
    const marker = await markerOf(5);
    await truncate(join(folder, "adapter_model.safetensors"), 40);
    await writeFile(join(folder, "optimizer.pt"), "state of 6");
    expect(await verifyCheckpoint(folder, marker, { digests: true })).toEqual([
      { path: "adapter_model.safetensors", problem: expect.stringContaining("40 bytes instead of") },
      { path: "optimizer.pt", problem: expect.stringContaining("SHA-256") },
    ]);
    await rm(join(folder, "optimizer.pt"));
    expect(await verifyCheckpoint(folder, marker, { digests: false })).toContainEqual({
      path: "optimizer.pt",
      problem: "missing",
    });
  });

  it("reads the size that the safetensors header promises", async () => {
    const folder = await save(5);
    const marker = await markerOf(5);
    const bad = Buffer.concat([safetensors(8), Buffer.alloc(4)]);
    await writeFile(join(folder, "adapter_model.safetensors"), bad);
    const files = {
      ...marker.files,
      "adapter_model.safetensors": { bytes: bad.length, sha256: sha256(bad) },
    };
    expect(await verifyCheckpoint(folder, { ...marker, files }, { digests: true })).toEqual([
      { path: "adapter_model.safetensors", problem: expect.stringContaining("header promises") },
    ]);
  });

  it("does not accept a checkpoint without weights", async () => {
    const folder = await save(5);
    const marker = await markerOf(5);
    const problems = await verifyCheckpoint(folder, { ...marker, files: {} }, { digests: true });
    expect(problems).toHaveLength(1);
  });
});

describe("registry and selection", () => {
  it("keeps manifests, finds them by id and says which steps exist", async () => {
    await save(10);
    await save(20);
    const project = projectAt(root);
    for (const manifest of await manifests()) await registerCheckpoint(project, manifest);
    expect((await listCheckpoints(project, "run-1")).map((one) => one.id)).toEqual(["run-1@10", "run-1@20"]);
    expect((await findCheckpoint(project, "run-1@20")).step).toBe(20);
    await expect(findCheckpoint(project, "run-1@30")).rejects.toMatchObject({
      hint: "run run-1 has steps 10, 20",
    });
    await expect(findCheckpoint(project, "run-1")).rejects.toMatchObject({ code: "CHECKPOINT_ID" });
  });

  it("names the lowest dev loss (the earliest of equals) and the last", async () => {
    await save(10, { evalLoss: 3 });
    await save(20, { evalLoss: 1.5 });
    await save(30, { evalLoss: 1.5 });
    await save(40, { evalLoss: null });
    const { lowestDevLoss, last, candidates } = selectCheckpoints(await manifests());
    expect([lowestDevLoss?.step, last?.step, candidates]).toEqual([20, 40, 3]);
    expect(selectCheckpoints([])).toEqual({ lowestDevLoss: undefined, last: undefined, candidates: 0 });
  });

  it("gives equal weights one digest whatever the optimizer state is", async () => {
    await save(10);
    await save(20);
    await save(30, { values: 9 });
    const digests = (await manifests()).map((manifest) => manifest.weightsDigest);
    expect(digests[0]).toBe(digests[1]);
    expect(digests[0]).not.toBe(digests[2]);
    expect(weightsDigest(await markerOf(10))).toBe(digests[0]);
  });
});
