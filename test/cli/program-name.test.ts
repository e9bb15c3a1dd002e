import { describe, expect, it } from "vitest";
import { asTyped, programName, spoken } from "../../src/cli/program-name.ts";
import { wrap } from "../../src/cli/wrap.ts";

describe("the name of the program", () => {
  it.each([
    ["/usr/local/bin/understudy", {}, "understudy"],
    ["C:\\tools\\understudy.cmd", {}, "understudy"],
    ["/clone/node_modules/.bin/understudy", { npm_command: "exec" }, "npx understudy"],
    ["/clone/bin/understudy.js", {}, "npx understudy"],
    ["/clone/bin/understudy.js", { npm_command: "run-script" }, "npx understudy"],
    ["", {}, "npx understudy"],
  ] as const)("of %s with %o is %s", (script, environment, name) => {
    expect(programName(script, environment)).toBe(name);
  });

  it("stands in every command line of ours, once, and nowhere else", () => {
    const npx = "npx understudy";
    expect(spoken("see understudy run list; understudy --help", npx)).toBe(
      "see npx understudy run list; npx understudy --help",
    );
    expect(spoken("watch it: understudy run watch a", "understudy")).toBe("watch it: understudy run watch a");
    const same = [
      "npx understudy run list",
      "/opt/understudy/models",
      "bin/understudy run",
      "~/.understudy run",
      "s3://b/understudy/runs",
      "Understudy needs Node",
      "an understudy is somebody",
    ];
    for (const text of same) expect(spoken(text, npx)).toBe(text);
    expect(spoken(asTyped("understudy doctor", npx), npx)).toBe("npx understudy doctor");
  });

  it("is not torn from npx where a text is wrapped", () => {
    const text = asTyped("aaaa aaaa understudy run show x", "npx understudy");
    const lines = wrap(text, 14).map((line) => spoken(line, "npx understudy"));
    expect(lines).toEqual(["aaaa aaaa", "npx understudy", "run show x"]);
  });
});
