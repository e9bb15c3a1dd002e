import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Pipeline } from "./pipeline.ts";

/** Estimate and 95 % bounds. */
export type Numbers = readonly [number, number, number];

/**
 * The headline numbers, written out from their definitions and from the rows on disk; nothing of the program is used. Nats per
 * token of a role: Σ nll / Σ tokens; a level: mean over roles ± t(roles − 1) · SD / √roles; gain: base − tuned by role;
 * difference in differences: unseen − seen with Welch's standard error and degrees of freedom.
 */
export const headlineNumbers = (pipeline: Pipeline): ReadonlyMap<string, Numbers> => {
  const values = (system: string, suite: string): readonly number[] => roleValues(pipeline, system, suite);
  const gains = (suite: string): readonly number[] =>
    values("base", suite).map(
      (base, index) => base - (values("lowest-dev-loss", suite)[index] ?? Number.NaN),
    );
  const found = new Map<string, Numbers>();
  for (const system of ["base", "lowest-dev-loss"]) {
    for (const suite of ["test/seen", "test/unseen"]) {
      found.set(`level ${system} ${suite} nll`, meanInterval(values(system, suite)));
    }
  }
  for (const suite of ["test/seen", "test/unseen"]) {
    found.set(`generalisation lowest-dev-loss-vs-base ${suite} gain`, meanInterval(gains(suite)));
  }
  found.set(
    "generalisation lowest-dev-loss-vs-base test did",
    welch(gains("test/seen"), gains("test/unseen")),
  );
  return found;
};

/** `table system suite outcome` → numbers of report.csv. */
export const reportedNumbers = (csv: string): ReadonlyMap<string, Numbers> => {
  const lines = csv.replace("\uFEFF", "").split("\r\n").slice(1, -1);
  return new Map(
    lines.map((line) => {
      const [table = "", system = "", suite = "", outcome = "", estimate, lower, upper] = line.split(",");
      return [`${table} ${system} ${suite} ${outcome}`, [Number(estimate), Number(lower), Number(upper)]];
    }),
  );
};

// By role, in the order of their ids. Where a model state has two names, the rows lie under the first.
function roleValues(pipeline: Pipeline, system: string, suite: string): readonly number[] {
  const folder = pipeline.taskFolder("score", system, suite);
  const rows = readFileSync(join(folder, "scores.jsonl"), "utf8").trimEnd().split("\n");
  const sums = new Map<string, { nll: number; tokens: number }>();
  for (const line of rows) {
    const text = (name: string): string => new RegExp(`"${name}": ?"?([^",}]+)`).exec(line)?.[1] ?? "";
    const sum = sums.get(text("role")) ?? { nll: 0, tokens: 0 };
    sums.set(text("role"), {
      nll: sum.nll + Number(text("nll")),
      tokens: sum.tokens + Number(text("tokens")),
    });
  }
  return [...sums].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([, { nll, tokens }]) => nll / tokens);
}

const mean = (values: readonly number[]): number =>
  values.reduce((sum, value) => sum + value, 0) / values.length;

const squaredError = (values: readonly number[]): number =>
  values.reduce((sum, value) => sum + (value - mean(values)) ** 2, 0) / (values.length - 1) / values.length;

function meanInterval(values: readonly number[]): Numbers {
  const half = quantile975(values.length - 1) * Math.sqrt(squaredError(values));
  return [mean(values), mean(values) - half, mean(values) + half];
}

function welch(seen: readonly number[], unseen: readonly number[]): Numbers {
  const [a, b] = [squaredError(seen), squaredError(unseen)];
  const df = (a + b) ** 2 / (a ** 2 / (seen.length - 1) + b ** 2 / (unseen.length - 1));
  const estimate = mean(unseen) - mean(seen);
  const half = quantile975(df) * Math.sqrt(a + b);
  return [estimate, estimate - half, estimate + half];
}

// The t with 97.5 % of Student's distribution below it: Simpson's rule over the density, then halving. With x = √df·tan(u)
// the density is cos(u)^(df−1) up to its constant, which is integrated too.
function quantile975(df: number): number {
  const area = (to: number): number => {
    const pieces = 4000;
    const width = to / pieces;
    let sum = 0;
    for (let index = 0; index <= pieces; index++) {
      const weight = index === 0 || index === pieces ? 1 : index % 2 === 1 ? 4 : 2;
      sum += weight * Math.cos(index * width) ** (df - 1);
    }
    return (sum * width) / 3;
  };
  const wanted = 0.95 * area(Math.PI / 2);
  let [low, high] = [0, Math.PI / 2];
  for (let halving = 0; halving < 60; halving++) {
    const middle = (low + high) / 2;
    if (area(middle) < wanted) low = middle;
    else high = middle;
  }
  return Math.sqrt(df) * Math.tan(low);
}
