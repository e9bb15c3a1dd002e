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
    .fail((message: string | null, error: Error | undefined) => fail(message ?? error?.message ?? "Usage"));
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
  if (spec.choices && !spec.choices.includes(String(value))) {
    fail(`${shown} is ${String(value)}, but takes one of ${spec.choices.join(", ")}`);
  }
  return value;
}

function positionalValue(key: string, spec: PositionalSpec, words: readonly string[], fail: Fail): unknown {
  const [first] = words;
  if (first === undefined && !spec.optional) fail(`Missing <${key}>: ${spec.describe}`);
  const wrong = words.find((word) => spec.choices && !spec.choices.includes(word));
  if (wrong !== undefined) fail(`<${key}> is ${wrong}, but takes one of ${(spec.choices ?? []).join(", ")}`);
  return spec.many ? words : first;
}
