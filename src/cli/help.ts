import type { Command, OptionSpec } from "./command.ts";
import { COMMANDS, wordsOf, type CommandEntry } from "./command-table.ts";
import { kebab } from "./names.ts";
import { pairLines } from "./table.ts";
import { wrap } from "./wrap.ts";

const EXIT_CODES: readonly (readonly [string, string])[] = [
  ["0", "Done"],
  ["1", "A bug of this program"],
  ["2", "Wrong usage or input, nothing was started"],
  ["3", "Refused by a check before the start"],
  ["4", "A job, machine or provider failed"],
  ["5", "Over the budget"],
  ["6, 7", "A gate was asked for: inconclusive, regression"],
  ["130", "Interrupted"],
];

/** `understudy --help`, from the table alone. */
export const rootHelp = (width = Infinity): string[] => [
  ...wrap("Understudy: from a speech role-play corpus to a fine-tuned, evaluated and compared agent", width),
  "",
  "Usage: understudy <command>",
  "",
  "Commands",
  ...pairLines(
    COMMANDS.map(({ usage, summary }) => [usage, summary]),
    width,
  ),
  "",
  "Options",
  ...pairLines([
    ["--help", "Explain understudy, a noun or a command"],
    ["--version", "Print the version"],
  ]),
  "",
  "Exit codes",
  ...pairLines(EXIT_CODES, width),
  "",
  "Environment",
  ...pairLines(
    [
      ["NO_COLOR", "No colours on a terminal"],
      ["UNDERSTUDY_STATE", "Folder for runs, environments and reports, on a local disk; default .understudy"],
      ["UNDERSTUDY_TORCH_WHEELS", "Folder or index to take the CPU build of torch from"],
      ["UNDERSTUDY_DEBUG", "1 shows where a bug of this program happened"],
    ],
    width,
  ),
];

/** `understudy recipe --help`: the verbs of a noun. */
export const nounHelp = (noun: string, width = Infinity): string[] => [
  `Usage: understudy ${noun} <command>`,
  "",
  "Commands",
  ...pairLines(
    COMMANDS.filter((entry) => wordsOf(entry)[0] === noun).map(({ usage, summary }) => [usage, summary]),
    width,
  ),
];

/** `understudy recipe check --help`. */
export const commandHelp = (entry: CommandEntry, command: Command, width = Infinity): string[] => {
  const positionals = Object.entries(command.positionals);
  return [
    `Usage: understudy ${entry.usage}`,
    "",
    entry.summary,
    ...(command.details === undefined ? [] : ["", ...wrap(command.details, width)]),
    ...section(
      "Arguments",
      positionals.map(([name, spec]) => [name, withChoices(spec.describe, spec.choices)]),
      width,
    ),
    ...section("Options", optionPairs(command), width),
    ...(command.examples.length === 0
      ? []
      : ["", "Examples", ...command.examples.map((line) => `  ${line}`)]),
  ];
};

function optionPairs(command: Command): [string, string][] {
  const own = Object.entries(command.options).map(([name, spec]): [string, string] => [
    optionLabel(name, spec),
    optionText(spec),
  ]);
  const json: [string, string][] = command.json
    ? [["--json", "Print one JSON document and nothing else"]]
    : [];
  return [...own, ...json, ["--help", "Explain this command"]];
}

function optionLabel(name: string, spec: OptionSpec): string {
  const short = spec.alias === undefined ? "" : `-${spec.alias}, `;
  const value = spec.type === "boolean" ? "" : ` ${spec.value ?? (spec.type === "number" ? "N" : "TEXT")}`;
  return `${short}--${kebab(name)}${value}`;
}

function optionText(spec: OptionSpec): string {
  const notes = [
    spec.required ? "required" : "",
    spec.many ? "may be repeated" : "",
    spec.default === undefined ? "" : `default ${spec.default}`,
  ].filter(Boolean);
  return withChoices(spec.describe, spec.choices) + (notes.length === 0 ? "" : ` (${notes.join(", ")})`);
}

function withChoices(text: string, choices: readonly string[] | undefined): string {
  return choices === undefined ? text : `${text}: ${choices.join(", ")}`;
}

function section(title: string, pairs: readonly (readonly [string, string])[], width: number): string[] {
  return pairs.length === 0 ? [] : ["", title, ...pairLines(pairs, width)];
}
