import { describe, expect, it } from "vitest";
import { defineCommand, type Command } from "../../src/cli/command.ts";
import { parseArguments } from "../../src/cli/parse-arguments.ts";

const command = defineCommand({
  positionals: { id: { describe: "An id" }, rest: { describe: "More", optional: true, many: true } },
  options: {
    on: { type: "string", describe: "Profile", required: true, alias: "o" },
    dryRun: { type: "boolean", describe: "Only show" },
    limit: { type: "number", describe: "How many", default: 5 },
    format: { type: "string", describe: "Form", choices: ["html", "csv"] },
    set: { type: "string", describe: "Override", many: true },
  },
  json: true,
  // Types follow from the data: a wrong one here would not compile.
  handler: async ({ id, rest, on, dryRun, limit, format, set }) => {
    const typed: [
      string,
      readonly string[],
      string,
      boolean,
      number,
      "html" | "csv" | undefined,
      readonly string[],
    ] = [id, rest, on, dryRun, limit, format, set];
    if (typed.length !== 7) throw new Error("unreachable");
  },
});

const parse = (...words: string[]): Promise<Readonly<Record<string, unknown>>> =>
  parseArguments(words, command, "thing do");

describe("parseArguments", () => {
  it("makes the values that the data promises", async () => {
    expect(await parse("7", "--on", "local")).toEqual({
      id: "7",
      rest: [],
      on: "local",
      dryRun: false,
      limit: 5,
      format: undefined,
      set: [],
      json: false,
    });
    expect(
      await parse(
        "--set",
        "a=1",
        "7",
        "-o",
        "x",
        "8",
        "9",
        "--dry-run",
        "--limit=3",
        "--set",
        "b=2",
        "--format",
        "csv",
      ),
    ).toMatchObject({
      id: "7",
      rest: ["8", "9"],
      on: "x",
      dryRun: true,
      limit: 3,
      format: "csv",
      set: ["a=1", "b=2"],
    });
  });

  it("keeps words as they are typed", async () => {
    expect(await parse("007", "1e3", "--on", "0x10", "--set", "a.b=1")).toMatchObject({
      id: "007",
      rest: ["1e3"],
      on: "0x10",
      set: ["a.b=1"],
    });
    expect(await parse("--on", "x", "--", "--odd")).toMatchObject({ id: "--odd" });
  });

  it.each([
    [["--on", "x"], "Missing <id>: An id"],
    [["7"], "Missing --on: Profile"],
    [["7", "--on", "x", "--limit", "many"], "--limit takes a number"],
    [["7", "--on", "x", "--format", "pdf"], "--format is pdf, but takes one of html, csv"],
    [["7", "--on", "x", "--on", "y"], "--on was given more than once"],
    [["7", "--on", "x", "--dryrun"], "Unknown option --dryrun; did you mean --dry-run?"],
    [["7", "--on", "x", "-q"], "Unknown option -q"],
    [["7", "--on"], "--on needs a value"],
  ])("refuses %j", async (words, message) => {
    await expect(parse(...words)).rejects.toMatchObject({
      code: "USAGE",
      message,
      hint: "see understudy thing do --help",
    });
  });

  it("refuses words that no positional takes", async () => {
    const plain: Command = defineCommand({
      positionals: { shell: { describe: "Shell", optional: true, choices: ["bash", "zsh"] } },
      options: {},
      json: false,
      handler: async () => {},
    });
    await expect(parseArguments(["bash", "x", "y"], plain, "c")).rejects.toThrow("Too many arguments: x y");
    await expect(parseArguments(["fish"], plain, "c")).rejects.toThrow(
      "<shell> is fish, but takes one of bash, zsh",
    );
    await expect(parseArguments(["--json"], plain, "c")).rejects.toThrow("Unknown option --json");
    expect(await parseArguments([], plain, "c")).toEqual({ shell: undefined });
  });
});
