import type { Command, OptionSpec } from "./command.ts";
import { COMMANDS, wordsOf, type CommandEntry } from "./command-table.ts";
import { kebab } from "./names.ts";
import { pairLines } from "./table.ts";

/** `understudy --help`, from the table alone. */
export const rootHelp = (): string[] => [
  "Understudy: from a speech role-play corpus to a fine-tuned, evaluated and compared agent",
  "",
  "Usage: understudy <command>",
  "",
  "Commands",
  ...pairLines(COMMANDS.map(({ usage, summary }) => [usage, summary])),
  "",
  "Options",
  ...pairLines([
    ["--help", "Explain understudy, a noun or a command"],
    ["--version", "Print the version"],
  ]),
  "",
  "Exit codes: 0 ok, 1 bug, 2 usage or invalid input, 3 refused by preflight, 4 remote failure, 5 budget,",
  "6 inconclusive gate, 7 regression gate, 130 interrupted. NO_COLOR and UNDERSTUDY_STATE are honoured.",
];

/** `understudy recipe --help`: the verbs of a noun. */
export const nounHelp = (noun: string): string[] => [
  `Usage: understudy ${noun} <command>`,
  "",
  "Commands",
  ...pairLines(
    COMMANDS.filter((entry) => wordsOf(entry)[0] === noun).map(({ usage, summary }) => [usage, summary]),
  ),
];

/** `understudy recipe check --help`. */
export const commandHelp = (entry: CommandEntry, command: Command): string[] => {
  const positionals = Object.entries(command.positionals);
  return [
    `Usage: understudy ${entry.usage}`,
    "",
    entry.summary,
    ...(command.details === undefined ? [] : ["", command.details]),
    ...section(
      "Arguments",
      positionals.map(([name, spec]) => [name, withChoices(spec.describe, spec.choices)]),
    ),
    ...section("Options", optionPairs(command)),
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

function section(title: string, pairs: readonly (readonly [string, string])[]): string[] {
  return pairs.length === 0 ? [] : ["", title, ...pairLines(pairs)];
}
