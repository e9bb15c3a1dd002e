import { COMMANDS, wordsOf } from "./command-table.ts";

/** How the person starts this program: it is on the PATH, or npm finds it in the folder of a clone. */
export type ProgramName = "understudy" | "npx understudy";

// Keeps the two words on one line while a text is wrapped; `spoken` makes it a space.
const UNBROKEN = "npx\u00a0understudy";
const NOUNS = [...new Set(COMMANDS.map((entry) => wordsOf(entry)[0] ?? ""))];
// Not a path, not a package, not after npx; and only where one of our commands follows.
const CALL = new RegExp(
  `(?<![\\w./@-]|npx[ \u00a0])understudy(?= (?:<command>|--|(?:${NOUNS.join("|")})\\b))`,
  "g",
);

/** Our own words, before they are wrapped, with every command line in them as this person has to type it. */
export const asTyped = (text: string, program: ProgramName = "understudy"): string =>
  program === "understudy" ? text : text.replaceAll(CALL, UNBROKEN);

/** The same as it is printed. */
export const spoken = (text: string, program?: ProgramName): string =>
  asTyped(text, program).replaceAll(UNBROKEN, "npx understudy");

/**
 * How this program was started. `script` is the path of the program that node was given; npm sets `npm_command` for whatever it
 * starts.
 */
export const programName = (
  script: string,
  environment: Readonly<Record<string, string | undefined>>,
): ProgramName => {
  const isOnPath = /(?:^|[\\/])understudy(?:\.cmd)?$/.test(script);
  return isOnPath && environment["npm_command"] === undefined ? "understudy" : "npx understudy";
};
