import { describe, expect, it } from "vitest";
import { bytesText, countText, secondsText } from "../../src/cli/quantities.ts";

describe("quantities", () => {
  it.each([
    [0, "0 B"],
    [999, "999 B"],
    [1000, "1.0 kB"],
    [8_500_000, "8.5 MB"],
    [127e9, "127 GB"],
  ])("%i bytes are %s", (bytes, text) => expect(bytesText(bytes)).toBe(text));

  it.each([
    [0.4, "0 s"],
    [59.6, "1 min 0 s"],
    [534, "8 min 54 s"],
    [54_180, "15 h 3 min"],
  ])("%f seconds are %s", (seconds, text) => expect(secondsText(seconds)).toBe(text));

  it("groups digits", () => expect(countText(12_345)).toBe("12,345"));
});
