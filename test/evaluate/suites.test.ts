import { describe, expect, it } from "vitest";
import { suiteDigest, suitesFor } from "../../src/evaluate/index.ts";

const role = (id: string, test = 4) => ({ id, rows: { test } });

describe("suitesFor", () => {
  const roles = [role("wukong"), role("luna"), role("thor"), role("untested", 0)];

  it("divides test roles by what was trained on", () => {
    expect(suitesFor(roles, ["thor", "wukong", "untested"])).toEqual([
      { id: "test/seen", roles: ["thor", "wukong"] },
      { id: "test/unseen", roles: ["luna"] },
    ]);
  });

  it("knows no label: the same role is unseen for another lineage", () => {
    const [seen, unseen] = suitesFor(roles, ["luna"]);
    expect(seen?.roles).toEqual(["luna"]);
    expect(unseen?.roles).toEqual(["thor", "wukong"]);
  });

  it("gives an empty suite when every role was trained on", () => {
    expect(suitesFor(roles, ["luna", "thor", "wukong"])[1]).toEqual({ id: "test/unseen", roles: [] });
  });

  it("refuses training roles that the lock does not know at all", () => {
    expect(() => suitesFor(roles, ["Thor", "Luna"])).toThrow(/None of the 2 training roles/);
  });

  it("has an identity that follows roles and shards but not their order", () => {
    const suite = { id: "test/seen", roles: ["a", "b"] } as const;
    expect(suiteDigest(suite, ["x", "y"])).toBe(suiteDigest({ ...suite, roles: ["b", "a"] }, ["y", "x"]));
    expect(suiteDigest(suite, ["x", "y"])).not.toBe(suiteDigest(suite, ["x", "z"]));
    expect(suiteDigest(suite, ["x"])).not.toBe(suiteDigest({ ...suite, roles: ["a"] }, ["x"]));
  });
});
