import type { Check } from "../launch/index.ts";
import type { Context } from "./context.ts";
import type { Printer } from "./print.ts";
import type { Style } from "./style.ts";
import { wrap } from "./wrap.ts";

const WORDS: Readonly<Record<Check["outcome"], string>> = {
  ok: "ok",
  failed: "FAILED",
  unknown: "unknown",
  warning: "warning",
};
// Less room than this makes a column of single words.
const NARROWEST = 30;
const WIDTH = Math.max(...Object.values(WORDS).map((word) => word.length));

/** Checks as lines: outcome, name, what was found, and below it what to do. */
export const checkLines = (
  checks: readonly Check[],
  { print, columns, typed }: Pick<Context, "print" | "columns" | "typed">,
): string[] => {
  const { style } = print;
  const widest = Math.max(0, ...checks.map(({ name }) => name.length));
  const indent = " ".repeat(WIDTH + widest + 6);
  return checks.flatMap(({ name, outcome, detail, hint }) => {
    const room = Math.max(NARROWEST, columns - indent.length);
    const told = (text: string): string[] => text.split("\n").flatMap((line) => wrap(typed(line), room));
    const [first = "", ...more] = told(detail);
    return [
      `  ${coloured(outcome, style)}  ${name.padEnd(widest)}  ${first}`,
      ...more.map((line) => `${indent}${line}`),
      ...(hint === undefined || outcome === "ok"
        ? []
        : told(`${style.bold("hint:")} ${hint}`).map((line) => `${indent}${line}`)),
    ];
  });
};

/** What stops nothing and should be read all the same, with what to do about it. */
export const tellDoubts = (checks: readonly Check[], print: Pick<Printer, "note" | "warn">): void => {
  for (const { name, outcome, detail, hint } of checks) {
    const text = `${name}: ${detail}${hint === undefined ? "" : `; ${hint}`}`;
    if (outcome === "unknown") print.note(`not known: ${text}`);
    if (outcome === "warning") print.warn(text);
  }
};

function coloured(outcome: Check["outcome"], style: Style): string {
  const word = WORDS[outcome].padEnd(WIDTH);
  if (outcome === "ok") return word;
  return outcome === "failed" ? style.red(word) : style.yellow(word);
}
