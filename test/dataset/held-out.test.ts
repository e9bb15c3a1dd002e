import { describe, expect, it } from "vitest";
import { allocate } from "../../src/dataset/pack/allocate.ts";
import { heldOutRoles, type HeldOut } from "../../src/dataset/pack/held-out.ts";
import type { DatasetSpec } from "../../src/dataset/schema.ts";
import { shuffled } from "./entries.ts";

// The published corpus: 82 English and 16 Chinese roles, here of two sources each.
const ROLES = Array.from({ length: 98 }, (_, index) => ({
  stem: `Role ${index}`,
  slug: `role_${index}`,
  language: index < 82 ? ("en" as const) : ("zh" as const),
  source: index % 4 === 0 ? "ChatHaruhi" : "RoleLLM",
}));
const languageOf = new Map(ROLES.map((role) => [role.slug, role.language]));
const count = (slugs: ReadonlySet<string>): Record<string, number> => {
  const counts: Record<string, number> = { en: 0, zh: 0 };
  for (const slug of slugs) {
    const language = languageOf.get(slug) ?? "nobody";
    counts[language] = (counts[language] ?? 0) + 1;
  }
  return counts;
};
const perRole = { testPerRole: 4, devPerRole: 2 };
const bySeed = (seed: number, heldOutCount = 20): DatasetSpec["splits"] => ({
  by: "seed",
  seed,
  heldOutCount,
  ...perRole,
});
const byFold = (fold: number, devRoles = 4): HeldOut =>
  heldOutRoles({ by: "folds", seed: 3, folds: 5, fold, devRoles, ...perRole }, ROLES);

describe("allocate", () => {
  it("gives whole numbers in proportion that add up", () => {
    expect(allocate([82, 16], 20)).toEqual([17, 3]);
    expect(allocate([1, 1, 1], 2)).toEqual([1, 1, 0]);
    expect(allocate([10, 0, 5], 3)).toEqual([2, 0, 1]);
  });
  it("never gives more than there is", () => {
    expect(allocate([2, 3], 9)).toEqual([2, 3]);
    expect(allocate([], 4)).toEqual([]);
    expect(allocate([0, 0], 4)).toEqual([0, 0]);
  });
});

describe("held-out roles by name", () => {
  it("are those named, in any Unicode form; a name of nobody is left to the gates", () => {
    const roles = [{ stem: "Zo\u00eb", slug: "zoe", language: "en" as const, source: "x" }];
    const spec = { by: "spec" as const, seed: 1, heldOutRoles: ["Zoe\u0308", "Loki"], ...perRole };
    expect(heldOutRoles(spec, roles)).toEqual({ ood: new Set(["zoe"]), dev: new Set() });
  });
});

describe("held-out roles by seed", () => {
  it("are as many as asked for, in proportion over languages", () => {
    expect(count(heldOutRoles(bySeed(1), ROLES).ood)).toEqual({ en: 17, zh: 3 });
  });
  it("depend on the seed and not on the order of the manifest", () => {
    const [one, two] = [heldOutRoles(bySeed(1), ROLES), heldOutRoles(bySeed(2), ROLES)];
    expect(heldOutRoles(bySeed(1), shuffled(ROLES))).toEqual(one);
    expect([...two.ood].toSorted()).not.toEqual([...one.ood].toSorted());
  });
});

describe("held-out roles by folds", () => {
  const folds = [1, 2, 3, 4, 5].map((fold) => byFold(fold));

  it("hold out every role exactly once, in folds of even size and mixture", () => {
    const all = folds.flatMap(({ ood }) => [...ood]);
    expect(all).toHaveLength(98);
    expect(new Set(all).size).toBe(98);
    expect(folds.map(({ ood }) => ood.size).toSorted((a, b) => a - b)).toEqual([19, 19, 20, 20, 20]);
    for (const { ood } of folds) expect(count(ood)["zh"]).toBeOneOf([3, 4]);
  });
  it("have dev roles of their own, which the fold neither trains on nor holds out", () => {
    for (const { ood, dev } of folds) {
      expect(dev.size).toBe(4);
      expect([...dev].filter((slug) => ood.has(slug))).toEqual([]);
      expect(count(dev)).toEqual({ en: 3, zh: 1 });
    }
    expect(new Set(folds.map(({ dev }) => [...dev].toSorted().join())).size).toBe(5);
    expect(byFold(1, 0).dev).toEqual(new Set());
  });
  it("are no more than there are folds, and leave somebody to train on", () => {
    expect(() => byFold(6)).toThrow("splits.fold is 6, of 5 folds");
    expect(() => heldOutRoles(bySeed(1, ROLES.length), ROLES)).toThrow(
      "splits.heldOutCount is 98, of 98 roles",
    );
  });

  it("do not depend on the order of the manifest", () => {
    const spec = { by: "folds" as const, seed: 3, folds: 5, fold: 2, devRoles: 4, ...perRole };
    expect(heldOutRoles(spec, shuffled(ROLES))).toEqual(byFold(2));
  });
});
