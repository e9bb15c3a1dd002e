import { describe, expect, it } from "vitest";
import { systemDigest, taskKey } from "../../src/evaluate/index.ts";

const decoding = { maxNewTokens: 64, temperature: 0, seed: 1 };
const settings = { decoding, preamble: "You are a virtual human." };
const system = { weightsDigest: "w1", speaker: "Ethan" } as const;

describe("systemDigest", () => {
  it("ignores names: one model state is one system", () => {
    const named = { ...system, id: "last", label: "last (step 40)" };
    const other = { ...named, id: "best" };
    expect(systemDigest(named, settings)).toBe(systemDigest(other, settings));
  });

  it.each([
    [{ ...system, weightsDigest: "w2" }, settings],
    [{ ...system, speaker: "Chelsie" } as const, settings],
    [system, { ...settings, decoding: { ...decoding, temperature: 0.7 } }],
    [system, { ...settings, preamble: "" }],
  ])("changes with weights, speaker, decoding and preamble (%#)", (other, otherSettings) => {
    expect(systemDigest(other, otherSettings)).not.toBe(systemDigest(system, settings));
  });
});

describe("taskKey", () => {
  const identity = {
    kind: "infer",
    systemDigest: "s",
    suiteDigest: "u",
    settings: decoding,
    payloadDigest: "p",
  } as const;

  it("is a folder name that does not depend on the order of keys", () => {
    const reordered = { ...identity, settings: { seed: 1, temperature: 0, maxNewTokens: 64 } };
    expect(taskKey(identity)).toBe(taskKey(reordered));
    expect(taskKey(identity)).toMatch(/^infer-[0-9a-f]{32}$/);
  });

  it("changes with each part", () => {
    const others = [
      { ...identity, kind: "score" as const },
      { ...identity, systemDigest: "t" },
      { ...identity, suiteDigest: "v" },
      { ...identity, settings: { ...decoding, seed: 2 } },
      { ...identity, payloadDigest: "q" },
    ];
    expect(new Set([identity, ...others].map(taskKey)).size).toBe(6);
  });
});
