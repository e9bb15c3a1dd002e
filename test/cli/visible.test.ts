import { describe, expect, it } from "vitest";
import { visible, visibleForeign } from "../../src/cli/visible.ts";

describe("visible", () => {
  it("shows what would move the cursor, hide text or turn it round", () => {
    expect(visible("a\u001b[2Jb\u0007\u0000\u009b1m\u202ec")).toBe(
      "a\\u001b[2Jb\\u0007\\u0000\\u009b1m\\u202ec",
    );
  });

  it("leaves our emphasis, line breaks, tabs and people's text as they are", () => {
    const text = "\u001b[1mrole\u001b[22m\n\t金葫芦 é 👩‍🎤";
    expect(visible(text)).toBe(text);
    expect(visible("one\r\ntwo\rthree")).toBe("one\ntwo\nthree");
  });

  it("takes emphasis for foreign where the text is", () => {
    expect(visibleForeign("\u001b[31mred")).toBe("\\u001b[31mred");
  });
});
