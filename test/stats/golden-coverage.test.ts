import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { goldenIds } from "./golden.ts";

const tests = readdirSync(import.meta.dirname)
  .filter((name) => name.endsWith(".test.ts"))
  .map((name) => readFileSync(join(import.meta.dirname, name), "utf8"))
  .join("\n");

const used = new Set([...tests.matchAll(/golden\(\s*"([A-Z]\d+_[^"]+)"/g)].map((match) => match[1]));

// Parsing of judge replies (B1) and the engine around the judge (M) are tested with their stages.
const elsewhere = (id: string): boolean => id === "B1_parser_table" || /^M\d/.test(id);

describe("golden cases", () => {
  it("are all used by a test of the estimators", () => {
    expect(goldenIds.filter((id) => !elsewhere(id) && !used.has(id))).toEqual([]);
  });

  it("count 31 statistical ones", () => {
    expect(goldenIds.filter((id) => !elsewhere(id))).toHaveLength(31);
  });
});
