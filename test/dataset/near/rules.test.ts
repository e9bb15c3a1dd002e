import { join } from "node:path";
import { execa } from "execa";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { components } from "../../../src/dataset/near/components.ts";
import { greedy } from "../../../src/dataset/near/greedy.ts";
import type { NearRow } from "../../../src/dataset/near/near-row.ts";
import { exactKey } from "../../../src/dataset/near/near-text.ts";
import { nearestOver } from "../../../src/dataset/near/nearest-over.ts";
import { vectorTable, type VectorTable } from "../../../src/dataset/near/table.ts";
import { unitVector } from "../../../src/dataset/near/unit-vector.ts";
import { parseJson } from "../../../src/core/files.ts";
import { testPython } from "../../support/python.ts";
import { atDegrees, randomFrom } from "./support.ts";

const python = testPython();

const tableOf = (vectors: readonly Float32Array[]): VectorTable =>
  vectorTable(vectors.map((vector, index) => ({ id: String(index).padStart(4, "0"), vector })));

const plane = (...degrees: number[]): VectorTable => tableOf(degrees.map(atDegrees));

const removed = (rows: readonly NearRow[]): unknown =>
  rows.map(({ row, pivot, cluster }) => ({ row, pivot, cluster }));

describe("a chain A ~ B ~ C whose ends are far apart", () => {
  const chain = plane(0, 20, 40);

  it("keeps A and C by greedy: what is removed removes nobody", async () => {
    expect(removed(await greedy(chain, 0.9))).toEqual([{ row: 1, pivot: 0, cluster: 0 }]);
  });

  it("keeps A by components; the pivot of C is B, the cluster is A's", async () => {
    expect(removed(await components(chain, 0.9))).toEqual([
      { row: 1, pivot: 0, cluster: 0 },
      { row: 2, pivot: 1, cluster: 0 },
    ]);
  });

  it("that the order begins in the middle goes whole by greedy", async () => {
    expect(removed(await greedy(plane(20, 0, 40), 0.9))).toEqual([
      { row: 1, pivot: 0, cluster: 0 },
      { row: 2, pivot: 0, cluster: 0 },
    ]);
  });

  it("of nine is one cluster by components, and every second one is kept by greedy", async () => {
    const long = plane(0, 20, 40, 60, 80, 100, 120, 140, 160);
    expect((await components(long, 0.9)).map(({ row, cluster }) => [row, cluster])).toEqual(
      [1, 2, 3, 4, 5, 6, 7, 8].map((row) => [row, 0]),
    );
    expect((await greedy(long, 0.9)).map(({ row }) => row)).toEqual([1, 3, 5, 7]);
  });
});

describe("the threshold", () => {
  const rules = { greedy, components };

  it.each(["greedy", "components"] as const)("itself is no near-duplicate, by %s", async (name) => {
    // 0.85 as float32 is a little more than 0.85.
    for (const limit of [0.9, 0.85, 0.875]) {
      const at = tableOf([
        Float32Array.of(1, 0),
        Float32Array.of(Math.fround(limit), Math.sqrt(1 - limit ** 2)),
      ]);
      expect(await rules[name](at, limit)).toEqual([]);
      expect(await rules[name](at, limit - 1e-6)).toHaveLength(1);
      expect(await nearestOver(at, at, { threshold: 1 })).toEqual([]);
    }
  });

  it.each([0, 1, 2, 3, 4, 5, 6, 7, 8, 9])(
    "holds for tables of %i rows: all equal, one stays",
    async (rows) => {
      const same = plane(...Array.from({ length: rows }, () => 33));
      const gone = Array.from({ length: Math.max(0, rows - 1) }, (_, index) => index + 1);
      for (const rule of [greedy, components])
        expect((await rule(same, 0.9)).map(({ row, pivot, cluster }) => [row, pivot, cluster])).toEqual(
          gone.map((row) => [row, 0, 0]),
        );
      expect(
        (await nearestOver(same, same, { threshold: 0.9 })).map(({ row, pivot }) => [row, pivot]),
      ).toEqual(Array.from({ length: rows }, (_, row) => [row, 0]));
    },
  );
});

it("does not compare what is orthogonal or opposite, nor with an empty table", async () => {
  expect(await greedy(plane(0, 90, 180, 270), 0.01)).toEqual([]);
  const empty = tableOf([]);
  expect(await nearestOver(plane(0), empty, { threshold: 0.5 })).toEqual([]);
  expect(await nearestOver(empty, plane(0), { threshold: 0.5 })).toEqual([]);
});

it("stops between two blocks when it is told to", async () => {
  const random = randomFrom(4);
  const vectors = Array.from({ length: 1500 }, () =>
    unitVector(Array.from({ length: 384 }, random), 384, "the test"),
  );
  const stop = new AbortController();
  const working = components(tableOf(vectors), 0.9, stop.signal);
  stop.abort(new Error("enough"));
  await expect(working).rejects.toThrow("enough");
});

const Reference = z.object({
  greedy: z.array(z.tuple([z.number(), z.number(), z.number()])),
  components: z.array(z.tuple([z.number(), z.number(), z.number(), z.number()])),
  nearest: z.array(z.tuple([z.number(), z.number(), z.number()])),
  folds: z.array(z.tuple([z.string(), z.string()])),
});

const families = (rows: number, dimension: number, seed: number): Float32Array[] => {
  const random = randomFrom(seed);
  const centres = Array.from({ length: 60 }, () => Array.from({ length: dimension }, random));
  return Array.from({ length: rows }, (_, index) => {
    const centre = centres[Math.floor((random() + 0.5) * centres.length)] ?? [];
    const noise = 0.1 + (index % 7) * 0.15;
    const raw = centre.map((value) => value + noise * random());
    return unitVector(raw, dimension, "the test");
  });
};

const base64 = ({ values }: VectorTable): string =>
  Buffer.from(values.buffer, values.byteOffset, values.byteLength).toString("base64");

const title = python === undefined ? " (skipped: no Python; set UNDERSTUDY_TEST_PYTHON)" : "";
describe.skipIf(python === undefined)(`A slow reference in numpy${title}`, () => {
  it.each([
    [384, 0.9, 203],
    [1024, 0.85, 150],
  ])("agrees at %i dimensions over %f", async (dimension, threshold, count) => {
    const vectors = families(count + 31, dimension, count);
    const [table, others] = [tableOf(vectors.slice(0, count)), tableOf(vectors.slice(count))];
    const input = JSON.stringify({ dimension, rows: base64(table), others: base64(others), threshold });
    const script = join(import.meta.dirname, "reference.py");
    const { stdout } = await execa(python ?? "python", [script], { input });
    const reference = parseJson(stdout, Reference, "reference.py");
    const ours = {
      greedy: (await greedy(table, threshold)).map(({ row, pivot, cosine }) => [row, pivot, cosine]),
      components: (await components(table, threshold)).map((near) => [
        near.row,
        near.pivot,
        near.cosine,
        near.cluster,
      ]),
      nearest: (await nearestOver(table, others, { threshold })).map(({ row, pivot, cosine }) => [
        row,
        pivot,
        cosine,
      ]),
    };
    const { folds, ...rules } = reference;
    expect(ours).toEqual(rules);
    // Both rules have had something to do, and not the same.
    expect(ours.greedy.length).toBeGreaterThan(12);
    expect(ours.components.length).toBeGreaterThan(ours.greedy.length);
    expect(ours.nearest.length).toBeGreaterThan(3);
    // What Unicode folds to the same is the same text for us.
    expect(folds.length).toBeGreaterThan(1000);
    expect(
      folds.filter(([character, folded]) => exactKey(`a${character}b`) !== exactKey(`a${folded}b`)),
    ).toEqual([]);
  });
});
