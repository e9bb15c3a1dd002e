import { UserError } from "../core/errors.ts";
import { secretsFrom } from "../core/secrets.ts";
import { COMMANDS, wordsOf, type CommandEntry } from "./command-table.ts";
import { contextFor } from "./context.ts";
import { EXIT, exitCodeOf, type ExitCode } from "./exit-codes.ts";
import { commandHelp, nounHelp, rootHelp } from "./help.ts";
import { printError } from "./print-error.ts";
import { spoken } from "./program-name.ts";
import { columnsOf, type World } from "./world.ts";

/** Runs one command line (without node and script) and returns its exit code; never throws. */
export const runUnderstudy = async (words: readonly string[], world: World): Promise<ExitCode> => {
  try {
    return await dispatch(words, world);
  } catch (error) {
    if (world.signal.aborted) {
      world.stderr.write("interrupted\n");
      return EXIT.interrupted;
    }
    printError(error, world, secretsFrom(world.environment), wantsJson(words));
    return exitCodeOf(error);
  }
};

async function dispatch(words: readonly string[], world: World): Promise<ExitCode> {
  const [first, second] = words;
  if (first === undefined || isHelp(first)) return say(world, rootHelp(columnsOf(world)));
  if (first === "--version") return say(world, [await (await import("./version.ts")).packageVersion()]);
  if (first === "--get-completions") {
    const { completionsFor } = await import("./completions.ts");
    return say(world, await completionsFor(words.slice(1), world));
  }
  const entry = findEntry(words);
  if (entry !== undefined) return runEntry(entry, words.slice(wordsOf(entry).length), world);
  if (isNoun(first) && (second === undefined || isHelp(second)))
    return say(world, nounHelp(first, columnsOf(world)));
  throw await unknownCommand(words);
}

async function runEntry(entry: CommandEntry, rest: readonly string[], world: World): Promise<ExitCode> {
  const command = await entry.load();
  if (beforeDashes(rest).some(isHelp)) return say(world, commandHelp(entry, command, columnsOf(world)));
  const { parseArguments } = await import("./parse-arguments.ts");
  const values = await parseArguments(rest, command, wordsOf(entry).join(" "));
  return (await command.run(values, contextFor(world, values["json"] === true))) ?? EXIT.ok;
}

function say(world: World, lines: readonly string[]): ExitCode {
  for (const line of lines) world.stdout.write(`${spoken(line, world.program)}\n`);
  return EXIT.ok;
}

function findEntry(words: readonly string[]): CommandEntry | undefined {
  return COMMANDS.find((entry) => wordsOf(entry).every((word, at) => words[at] === word));
}

function isNoun(word: string): boolean {
  return COMMANDS.some((entry) => wordsOf(entry).length > 1 && wordsOf(entry)[0] === word);
}

async function unknownCommand(words: readonly string[]): Promise<UserError> {
  const [first = "", second = ""] = words;
  // The same function that finds misspelt keys; loaded only now, for it brings the schemas along.
  const { didYouMean } = await import("../core/near-matches.ts");
  const shown = isNoun(first) ? `${first} ${second}` : first;
  const known = isNoun(first)
    ? COMMANDS.map((entry) => wordsOf(entry).join(" ")).filter((name) => name.startsWith(`${first} `))
    : [...new Set(COMMANDS.map((entry) => wordsOf(entry)[0] ?? ""))];
  const hint = isNoun(first) ? `understudy ${first} --help` : "understudy --help";
  return new UserError("COMMAND_UNKNOWN", `There is no command "${shown}"${didYouMean(shown, known)}`, {
    hint: `see all commands: ${hint}`,
  });
}

function isHelp(word: string): boolean {
  return word === "--help" || word === "-h";
}

// Before the arguments are parsed, or when they cannot be, an error still has to come in the form that was asked for.
function wantsJson(words: readonly string[]): boolean {
  return beforeDashes(words).includes("--json");
}

// Words after `--` are never options.
function beforeDashes(words: readonly string[]): readonly string[] {
  return words.includes("--") ? words.slice(0, words.indexOf("--")) : words;
}
