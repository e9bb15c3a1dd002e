import { describe, expect, it } from "vitest";
import { sentenceText } from "../../src/report/index.ts";
import type { Finding } from "../../src/report/finding.ts";
import { shipSentence } from "../../src/report/verdict-ship.ts";

const words = (seen: [Finding, Finding], unseen?: [Finding, Finding]): string =>
  sentenceText(
    shipSentence("lowest dev loss (step 3)", [
      { words: "seen roles", againstBase: seen[0], againstLast: seen[1] },
      ...(unseen ? [{ words: "unseen roles", againstBase: unseen[0], againstLast: unseen[1] }] : []),
    ]),
    new Map(),
  ).trim();

describe("shipSentence", () => {
  it("names the checkpoint only as far as the intervals go", () => {
    expect(words(["better", "inconclusive"], ["better", "better"])).toBe(
      "Use the lowest dev loss (step 3): better than the last checkpoint on unseen roles, not told apart from it on seen roles.",
    );
    expect(words(["better", "better"], ["better", "better"])).toContain("on seen roles and unseen roles.");
    expect(words(["better", "inconclusive"])).toContain("does not tell the two apart");
    expect(words(["better", "same_weights"], ["better", "same_weights"])).toContain(
      "the last checkpoint as well",
    );
  });

  it("does not recommend what the test speaks against", () => {
    expect(words(["inconclusive", "better"], ["inconclusive", "better"])).toContain("use none of them yet");
    expect(words(["better", "better"], ["worse", "better"])).toContain(
      "worse than the base model on unseen roles",
    );
    expect(words(["better", "worse"], ["better", "inconclusive"])).toContain("look at both");
    expect(words(["better", "better"], ["better", "worse"])).toContain("depends on the roles you serve");
    expect(words(["no_data", "no_data"])).toContain("use none of them yet");
  });
});
