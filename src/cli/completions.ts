import { COMMANDS, wordsOf, type CommandEntry } from "./command-table.ts";
import type { Command, OptionSpec } from "./command.ts";
import { kebab } from "./names.ts";

/**
 * What could stand in place of the last word of a command line (without the program's name). Empty means that the
 * shell should offer files.
 */
export const completionsFor = async (words: readonly string[]): Promise<string[]> => {
  const last = words.at(-1) ?? "";
  const before = words.slice(0, -1);
  const entry = COMMANDS.find((candidate) => wordsOf(candidate).every((word, at) => before[at] === word));
  const offered = entry === undefined ? nextWords(before) : await insideCommand(entry, before, last);
  return offered.filter((word) => word.startsWith(last));
};

function nextWords(before: readonly string[]): string[] {
  const next = COMMANDS.map(wordsOf)
    .filter((words) => before.every((word, at) => words[at] === word))
    .flatMap((words) => words[before.length] ?? []);
  return [...new Set(next), ...(before.length === 0 ? ["--help", "--version"] : [])];
}

async function insideCommand(
  entry: CommandEntry,
  before: readonly string[],
  last: string,
): Promise<string[]> {
  const command = await entry.load();
  const previous = before.at(-1) ?? "";
  const asked = Object.entries(command.options).find(([name]) => `--${kebab(name)}` === previous)?.[1];
  if (asked !== undefined && asked.type !== "boolean") return [...(asked.choices ?? [])];
  if (last.startsWith("-")) return optionNames(command);
  const position = before.slice(wordsOf(entry).length).filter((word) => !word.startsWith("-")).length;
  return [...(Object.values(command.positionals)[position]?.choices ?? [])];
}

function optionNames(command: Command): string[] {
  const options: Readonly<Record<string, OptionSpec>> = command.options;
  const own = Object.keys(options).map((name) => `--${kebab(name)}`);
  return [...own, ...(command.json ? ["--json"] : []), "--help"];
}
