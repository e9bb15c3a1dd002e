import { describe, expect, it } from "vitest";
import { textWidth } from "../../src/cli/text-width.ts";
import { wrap } from "../../src/cli/wrap.ts";

describe("wrap", () => {
  it("breaks at spaces, loses no word and keeps to the width", () => {
    const text = "the gain on unseen roles less the gain on seen roles is −1.103 [−1.855, −0.350]";
    const lines = wrap(text, 30);
    expect(lines.join(" ")).toBe(text);
    expect(lines.length).toBeGreaterThan(2);
    for (const line of lines) expect(textWidth(line)).toBeLessThanOrEqual(30);
  });

  it("counts wide characters as two and leaves a long word whole", () => {
    expect(wrap("云袖 老锣 金葫芦", 9)).toEqual(["云袖 老锣", "金葫芦"]);
    expect(wrap("a averyveryverylongword b", 5)).toEqual(["a", "averyveryverylongword", "b"]);
  });

  it("keeps the line ends of a text", () => {
    expect(wrap("scene: a corridor\n\nOdalind: no", 11)).toEqual(["scene: a", "corridor", "", "Odalind: no"]);
  });
});
