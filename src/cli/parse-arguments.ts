import { UserError } from "../core/errors.ts";
import type { Command, OptionSpec, PositionalSpec } from "./command.ts";
import { kebab } from "./names.ts";

const JSON_OPTION: OptionSpec = { type: "boolean", describe: "" };

/**
 * The words after a command's name as the values its handler expects. yargs takes the words apart; what is missing,
 * unknown or too much is told here, in one voice. UserError `USAGE`.
 */
export const parseArguments = async (
  words: readonly string[],
  command: Command,
  name: string,
): Promise<Readonly<Record<string, unknown>>> => {
  const options: Readonly<Record<string, OptionSpec>> = command.json
    ? { ...command.options, json: JSON_OPTION }
    : command.options;
  const fail = (message: string): never => {
    throw new UserError("USAGE", message, { hint: `see understudy ${name} --help` });
  };
  refuseValuesOfFlags(words, options, fail);
  const parsed = await yargsParse(words, options, fail);
  await refuseUnknown(Object.keys(parsed.named), options, fail);
  const values = new Map<string, unknown>();
  for (const [key, spec] of Object.entries(options)) {
    values.set(key, optionValue(key, spec, parsed.named[key], fail));
  }
  const rest = [...parsed.positionals];
  for (const [key, spec] of Object.entries(command.positionals)) {
    values.set(key, positionalValue(key, spec, spec.many ? rest.splice(0) : rest.splice(0, 1), fail));
  }
  if (rest.length > 0) fail(`Too many arguments: ${rest.join(" ")}`);
  return Object.fromEntries(values);
};

type Fail = (message: string) => never;

// yargs takes any value of a flag as yes: `--dry-run=no` would mean the opposite of what it says.
function refuseValuesOfFlags(
  words: readonly string[],
  options: Readonly<Record<string, OptionSpec>>,
  fail: Fail,
): void {
  const ends = words.indexOf("--");
  for (const word of ends === -1 ? words : words.slice(0, ends)) {
    const [, name = "", value = ""] = /^--([a-z-]+)=(.*)$/s.exec(word) ?? [];
    const spec = Object.entries(options).find(([key]) => kebab(key) === name)?.[1];
    if (spec?.type === "boolean") fail(`--${name} takes no value, but was given ${JSON.stringify(value)}`);
  }
}

interface Parsed {
  readonly positionals: readonly string[];
  readonly named: Readonly<Record<string, unknown>>;
}

async function yargsParse(
  words: readonly string[],
  options: Readonly<Record<string, OptionSpec>>,
  fail: Fail,
): Promise<Parsed> {
  const { default: yargs } = await import("yargs");
  const parser = yargs([...words])
    .help(false)
    .version(false)
    .exitProcess(false)
    .detectLocale(false)
    .parserConfiguration({
      "parse-positional-numbers": false,
      "greedy-arrays": false,
      "dot-notation": false,
      "strip-aliased": true,
      "strip-dashed": true,
    })
    .fail((message: string | null, error: Error | undefined) => fail(saidByYargs(message ?? error?.message)));
  for (const [key, spec] of Object.entries(options)) {
    parser.option(kebab(key), {
      type: spec.type,
      requiresArg: spec.type !== "boolean",
      ...(spec.alias === undefined ? {} : { alias: spec.alias }),
      ...(spec.many ? { array: true } : {}),
    });
  }
  const { _, $0: _program, ...named } = await parser.parseAsync();
  return { positionals: _.map(String), named };
}

function saidByYargs(message = "The arguments cannot be read"): string {
  const lacking = /^Not enough arguments following: (.+)$/.exec(message)?.[1];
  return lacking === undefined ? message : `${lacking.length === 1 ? "-" : "--"}${lacking} needs a value`;
}

async function refuseUnknown(
  given: readonly string[],
  options: Readonly<Record<string, OptionSpec>>,
  fail: Fail,
): Promise<void> {
  const unknown = given.find((key) => !Object.hasOwn(options, key));
  if (unknown === undefined) return;
  const { didYouMean } = await import("../core/near-matches.ts");
  const known = [...Object.keys(options), "help"].map((key) => `--${kebab(key)}`);
  const shown = unknown.length === 1 ? `-${unknown}` : `--${kebab(unknown)}`;
  fail(`Unknown option ${shown}${didYouMean(shown, known)}`);
}

function optionValue(key: string, spec: OptionSpec, given: unknown, fail: Fail): unknown {
  const shown = `--${kebab(key)}`;
  if (spec.many) {
    const list: readonly unknown[] = Array.isArray(given) ? given : [];
    return list.map((value) => checkedOption(shown, spec, value, fail));
  }
  if (Array.isArray(given)) return fail(`${shown} was given more than once`);
  if (given === undefined) {
    if (spec.required) fail(`Missing ${shown}: ${spec.describe}`);
    return spec.default ?? (spec.type === "boolean" ? false : undefined);
  }
  return checkedOption(shown, spec, given, fail);
}

function checkedOption(shown: string, spec: OptionSpec, value: unknown, fail: Fail): unknown {
  if (spec.type === "number" && Number.isNaN(value)) fail(`${shown} takes a number`);
  // Only PATH=VALUE texts, of which several may be given, have values of several lines.
  const foreign = spec.many ? /[^\P{Cc}\n\t]/u : /\p{Cc}/u;
  if (typeof value === "string") refuseControls(shown, value, foreign, fail);
  if (spec.choices && !spec.choices.includes(String(value))) {
    fail(`${shown} is ${String(value)}, but takes one of ${spec.choices.join(", ")}`);
  }
  return value;
}

function positionalValue(key: string, spec: PositionalSpec, words: readonly string[], fail: Fail): unknown {
  const [first] = words;
  if (first === undefined && !spec.optional) fail(`Missing <${key}>: ${spec.describe}`);
  const wrong = words.find((word) => spec.choices && !spec.choices.includes(word));
  for (const word of words) {
    if (word === "") fail(`<${key}> is empty: ${spec.describe}`);
    refuseControls(`<${key}>`, word, /\p{Cc}/u, fail);
  }
  if (wrong !== undefined) fail(`<${key}> is ${wrong}, but takes one of ${(spec.choices ?? []).join(", ")}`);
  return spec.many ? words : first;
}

// No name or path of ours holds one, and in a message it would move the cursor.
function refuseControls(
  shown: string,
  value: string,
  foreign: RegExp,
  fail: (message: string) => never,
): void {
  if (foreign.test(value)) fail(`${shown} holds a control character: ${JSON.stringify(value)}`);
}
