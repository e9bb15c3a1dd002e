import { describe, expect, it } from "vitest";
import { COMMANDS, positionalsOf, wordsOf } from "../../src/cli/command-table.ts";
import { runUnderstudy } from "../support/run-understudy.ts";

const help = async (...words: string[]): Promise<string> => {
  const { exitCode, stdout, stderr } = await runUnderstudy([...words, "--help"], { cwd: "/" });
  expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: "" });
  return stdout;
};

describe("--help", () => {
  it("of the program", async () => {
    expect(await help()).toMatchSnapshot();
    expect((await runUnderstudy([], { cwd: "/" })).stdout).toBe(await help());
  });

  const nouns = [
    ...new Set(COMMANDS.filter((entry) => wordsOf(entry).length > 1).map((entry) => wordsOf(entry)[0])),
  ];
  it.each(nouns)("of %s", async (noun) => {
    expect(await help(noun ?? "")).toMatchSnapshot();
    expect((await runUnderstudy([noun ?? ""], { cwd: "/" })).stdout).toBe(await help(noun ?? ""));
  });

  it.each(COMMANDS.map((entry) => [wordsOf(entry).join(" "), entry] as const))(
    "of %s",
    async (_name, entry) => {
      expect(await help(...wordsOf(entry))).toMatchSnapshot();
    },
  );
});

describe("the command table", () => {
  it.each(COMMANDS.map((entry) => [entry.usage, entry] as const))(
    "tells the truth about %s",
    async (usage, entry) => {
      const command = await entry.load();
      expect(positionalsOf(entry)).toEqual(Object.keys(command.positionals));
      for (const [name, spec] of Object.entries(command.positionals)) {
        const word = `${name}${spec.many ? ".." : ""}`;
        expect(usage.split(" ")).toContain(spec.optional ? `[${word}]` : `<${word}>`);
      }
      expect(
        command.examples.filter((line) => !line.startsWith(`understudy ${wordsOf(entry).join(" ")}`)),
      ).toEqual([]);
    },
  );

  it("has each command once", () => {
    const names = COMMANDS.map((entry) => wordsOf(entry).join(" "));
    expect(new Set(names).size).toBe(names.length);
  });

  it("fits an ordinary terminal", async () => {
    expect((await help()).split("\n").filter((line) => line.length > 110)).toEqual([]);
  });
});
