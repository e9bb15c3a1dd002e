import { COMMANDS, wordsOf, type CommandEntry } from "./command-table.ts";
import type { Command, OptionSpec } from "./command.ts";
import { namesFor } from "./completion-names.ts";
import { kebab } from "./names.ts";
import type { World } from "./world.ts";

/**
 * What could stand in place of the last word of a command line (without the program's name). Empty means that the
 * shell should offer files.
 */
export const completionsFor = async (
  words: readonly string[],
  world: Pick<World, "cwd" | "environment">,
): Promise<string[]> => {
  const last = words.at(-1) ?? "";
  const before = words.slice(0, -1);
  const entry = COMMANDS.find((candidate) => wordsOf(candidate).every((word, at) => before[at] === word));
  const offered =
    entry === undefined ? nextWords(before) : await insideCommand(entry, { before, last, world });
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
  line: {
    readonly before: readonly string[];
    readonly last: string;
    readonly world: Pick<World, "cwd" | "environment">;
  },
): Promise<string[]> {
  const { before, last, world } = line;
  const command = await entry.load();
  const asked = valueAskedBy(command, before.at(-1) ?? "");
  if (asked !== undefined) return valuesOf(asked, world);
  if (last.startsWith("-")) return optionNames(command);
  const specs = Object.values(command.positionals);
  const given = positionalsIn(command, before.slice(wordsOf(entry).length));
  const spec = specs[given] ?? specs.findLast(({ many }) => many);
  return spec === undefined ? [] : valuesOf(spec, world);
}

interface Valued {
  readonly choices?: readonly string[];
  readonly complete?: OptionSpec["complete"];
}

async function valuesOf(
  { choices, complete }: Valued,
  world: Pick<World, "cwd" | "environment">,
): Promise<string[]> {
  if (choices !== undefined) return [...choices];
  return complete === undefined ? [] : namesFor(complete, world);
}

/** The option that takes the word after this one. */
function valueAskedBy(command: Command, word: string): OptionSpec | undefined {
  const [, spec] =
    Object.entries(command.options).find(
      ([name, { alias }]) => word === `--${kebab(name)}` || (alias !== undefined && word === `-${alias}`),
    ) ?? [];
  return spec === undefined || spec.type === "boolean" ? undefined : spec;
}

// A value of an option is no positional.
function positionalsIn(command: Command, words: readonly string[]): number {
  return words.filter(
    (word, at) => !word.startsWith("-") && valueAskedBy(command, words[at - 1] ?? "") === undefined,
  ).length;
}

function optionNames(command: Command): string[] {
  const options: Readonly<Record<string, OptionSpec>> = command.options;
  const own = Object.keys(options).map((name) => `--${kebab(name)}`);
  return [...own, ...(command.json ? ["--json"] : []), "--help"];
}
