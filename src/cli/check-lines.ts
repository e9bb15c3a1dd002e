import type { Check } from "../launch/index.ts";
import type { Printer } from "./print.ts";
import type { Style } from "./style.ts";

const WORDS: Readonly<Record<Check["outcome"], string>> = {
  ok: "ok",
  failed: "FAILED",
  unknown: "unknown",
  warning: "warning",
};
const WIDTH = Math.max(...Object.values(WORDS).map((word) => word.length));

/** Checks as lines: outcome, name, what was found, and below it what to do. */
export const checkLines = (checks: readonly Check[], style: Style): string[] => {
  const widest = Math.max(0, ...checks.map(({ name }) => name.length));
  const indent = " ".repeat(WIDTH + widest + 6);
  return checks.flatMap(({ name, outcome, detail, hint }) => {
    const [first = "", ...more] = detail.split("\n");
    return [
      `  ${coloured(outcome, style)}  ${name.padEnd(widest)}  ${first}`,
      ...more.map((line) => `${indent}${line}`),
      ...(hint === undefined || outcome === "ok" ? [] : [`${indent}${style.bold("hint:")} ${hint}`]),
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
