import { parseArgs } from "node:util";

/** `--name value` words of a benchmark's command line, whichever way it was started; 2e9 is a number too. */
export const benchArguments = <Name extends string>(
  names: readonly Name[],
): Partial<Record<Name, string>> => {
  const [first = "", ...others] = process.argv.slice(1);
  // Compiled, the first word is the script.
  const words = first.startsWith("--") ? [first, ...others] : others;
  const { values } = parseArgs({
    args: words.filter((word) => word !== "--"),
    options: Object.fromEntries(names.map((name) => [name, { type: "string" as const }])),
  });
  const found: Partial<Record<Name, string>> = {};
  for (const name of names) {
    const value = values[name];
    if (typeof value === "string") found[name] = value;
  }
  return found;
};

/** The middle one of some numbers. */
export const median = (values: readonly number[]): number =>
  values.toSorted((a, b) => a - b)[values.length >> 1] ?? NaN;
