import { describe, expect, it } from "vitest";
import type { Entry } from "../../src/dataset/pack/entry.ts";
import { splitEntries, type SplitEntries } from "../../src/dataset/pack/split.ts";
import { SPLITS } from "../../src/dataset/schema.ts";
import { entryOf, roleEntries, shuffled } from "./entries.ts";

const NOBODY = { ood: new Set<string>(), dev: new Set<string>() };
const settings = { seed: 1, devPerRole: 2, testPerRole: 4 };
const pool = [...roleEntries("thor", 10), ...roleEntries("loki", 10), ...roleEntries("hela", 10)];
const ids = (entries: readonly Entry[]): readonly string[] => entries.map(({ id }) => id).toSorted();
const sizes = (splits: SplitEntries): readonly number[] => SPLITS.map((split) => splits[split].length);

describe("splitEntries", () => {
  it("draws test sessions, two single and two multi of each role, where the source has none", () => {
    const splits = splitEntries(pool, NOBODY, settings);
    expect(sizes(splits)).toEqual([42, 6, 0, 12]);
    for (const role of ["thor", "loki", "hela"])
      for (const kind of ["single", "multi"])
        expect(splits.test.filter((entry) => entry.roleId === role && entry.kind === kind)).toHaveLength(2);
  });

  it("leaves the source's own test sessions alone, and draws no others", () => {
    const published = [entryOf("t1", { pool: "test" }), entryOf("t2", { pool: "test", roleId: "loki" })];
    expect(ids(splitEntries([...pool, ...published], NOBODY, settings).test)).toEqual(["t1", "t2"]);
  });

  it("sends all of a held-out role to ood but its test, and all of a dev role to dev", () => {
    const splits = splitEntries(pool, { ood: new Set(["hela"]), dev: new Set(["loki"]) }, settings);
    expect(sizes(splits)).toEqual([14, 2 + 16, 16, 12]);
    expect(new Set(splits.train.map((entry) => entry.roleId))).toEqual(new Set(["thor"]));
    expect(new Set(splits.ood.map((entry) => entry.roleId))).toEqual(new Set(["hela"]));
  });

  it("is the same division, in the same order, for any order of the input", () => {
    expect(splitEntries(shuffled(pool), NOBODY, settings)).toEqual(splitEntries(pool, NOBODY, settings));
  });

  it("puts every dialogue somewhere, once", () => {
    const splits = splitEntries(pool, { ood: new Set(["hela"]), dev: new Set() }, settings);
    expect(ids(SPLITS.flatMap((split) => splits[split]))).toEqual(ids(pool));
  });

  it("takes from the other kind when a role has too few of one", () => {
    const role = [...roleEntries("thor", 3).filter((entry) => entry.kind === "multi"), entryOf("s0")];
    const { test } = splitEntries(role, NOBODY, { ...settings, devPerRole: 0 });
    expect(test).toHaveLength(4);
    expect(splitEntries(roleEntries("odin", 1), NOBODY, settings).test).toHaveLength(2);
  });

  it("keeps dialogues together that share an answer or a role clip, whatever the draw", () => {
    const twins = pool.map((entry) =>
      entry.id.endsWith("-7") || entry.id.endsWith("-8")
        ? { ...entry, pairs: [`${entry.roleId} greets`] }
        : entry.id.endsWith("-9")
          ? { ...entry, roleAudio: [`${entry.roleId} sighs`] }
          : entry,
    );
    for (let seed = 0; seed < 30; seed++) {
      const splits = splitEntries(twins, NOBODY, { seed, devPerRole: 5, testPerRole: 10 });
      const held = new Set(
        [...splits.test, ...splits.dev].flatMap((entry) => [...entry.pairs, ...entry.roleAudio]),
      );
      for (const entry of splits.train)
        expect([...entry.pairs, ...entry.roleAudio].filter((key) => held.has(key))).toEqual([]);
      const tested = new Set(splits.test.flatMap((entry) => [...entry.pairs, ...entry.roleAudio]));
      for (const entry of splits.dev)
        expect([...entry.pairs, ...entry.roleAudio].filter((key) => tested.has(key))).toEqual([]);
    }
  });

  it("draws others with another seed", () => {
    const drawn = [1, 2, 3].map((seed) => ids(splitEntries(pool, NOBODY, { ...settings, seed }).test).join());
    expect(new Set(drawn).size).toBe(3);
  });
});
