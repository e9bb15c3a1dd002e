import { mkdtemp, readFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { buildReport, cellText, indexed, type ReportModel, writeReport } from "../../src/report/index.ts";
import { handInput, type HandTurn } from "./hand-input.ts";
import { removeFolder } from "../support/remove-folder.ts";

// Three roles; `a` has two turns of unequal length, so that Σnll/Σtokens differs from the mean of turns.
const SEEN: readonly HandTurn[] = [
  { role: "a", dialogue: "a-0", turn: 0, tokens: 10, nll: { base: 31, chosen: 24, last: 25 } },
  { role: "a", dialogue: "a-0", turn: 1, tokens: 30, nll: { base: 72, chosen: 63, last: 66 } },
  { role: "b", dialogue: "b-0", turn: 0, tokens: 20, nll: { base: 58, chosen: 49, last: 53 } },
  { role: "c", dialogue: "c-0", turn: 0, tokens: 8, nll: { base: 26, chosen: 21, last: 20 } },
];
const UNSEEN: readonly HandTurn[] = [
  { role: "x", dialogue: "x-0", turn: 0, tokens: 10, nll: { base: 29, chosen: 28, last: 30 } },
  { role: "y", dialogue: "y-0", turn: 0, tokens: 10, nll: { base: 33, chosen: 30, last: 31 } },
];
// t(0.975) for 2 and 1 degrees of freedom, from tables.
const T2 = 4.302652729749464;
const T1 = 12.706204736174707;

const mean = (values: readonly number[]): number =>
  values.reduce((sum, value) => sum + value, 0) / values.length;
const sd = (values: readonly number[]): number =>
  Math.sqrt(values.reduce((sum, value) => sum + (value - mean(values)) ** 2, 0) / (values.length - 1));
const interval = (values: readonly number[], t: number): [number, number, number] => {
  const half = (t * sd(values)) / Math.sqrt(values.length);
  return [mean(values), mean(values) - half, mean(values) + half];
};

// Written out, not computed by the code under test.
const BASE = [(31 + 72) / 40, 58 / 20, 26 / 8];
const CHOSEN = [(24 + 63) / 40, 49 / 20, 21 / 8];
const UNSEEN_GAINS = [0.1, 0.3];
const SEEN_GAINS = BASE.map((value, index) => value - (CHOSEN[index] ?? 0));

describe("from rows to the printed number", () => {
  let folder: string;
  let model: ReportModel;
  let files: { readonly html: string; readonly markdown: string; readonly csv: string };

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "tracing-"));
    const input = handInput(SEEN, UNSEEN);
    model = buildReport(input);
    const out = join(folder, "report");
    await writeReport(model, input, out);
    const read = async (name: string): Promise<string> => readFile(join(out, name), "utf8");
    files = {
      html: await read("index.html"),
      markdown: await read("report.md"),
      csv: await read("report.csv"),
    };
  });
  afterAll(() => removeFolder(folder));

  const textsIn = (html: string, key: string): string[] =>
    [...html.matchAll(/<span class="num" data-cell="([^"]*)">(.*?)<\/span>(?!<\/span>)/g)]
      .filter(([, found]) => found === key)
      .map(([, , inner]) => (inner ?? "").replace(/<[^>]*>/g, ""));
  const csvRow = (key: string): string[] => {
    const [table, rest] = [key.slice(0, key.indexOf("/")), key.slice(key.indexOf("/") + 1)];
    const line = files.csv.split("\r\n").find((row) => {
      const [first, system, suite, outcome] = row.split(",");
      return first === table && `${system}/${suite}/${outcome}` === rest;
    });
    return line?.split(",") ?? [];
  };
  const seenDid = interval(SEEN_GAINS, T2);
  const unseenGain = interval(UNSEEN_GAINS, T1);

  it.each([
    ["level/base/test/seen/nll", interval(BASE, T2), [3, 4, 4]],
    [
      "difference/chosen-vs-base/test/seen/nll",
      interval(
        SEEN_GAINS.map((gain) => -gain),
        T2,
      ),
      [3, 4, 4],
    ],
    ["generalisation/chosen-vs-base/test/seen/gain", seenDid, [3, 4, 4]],
    ["generalisation/chosen-vs-base/test/unseen/gain", unseenGain, [2, 2, 2]],
  ] as const)("%s", (key, [estimate, lo, hi], [roles, scored, expected]) => {
    const shown = (value: number): string => value.toFixed(3).replace("-", "\u2212");
    const text = `${shown(estimate)} [${shown(lo)}, ${shown(hi)}]`;
    const row = csvRow(key);
    expect(Number(row[4])).toBeCloseTo(estimate, 12);
    expect(Number(row[5])).toBeCloseTo(lo, 9);
    expect(Number(row[6])).toBeCloseTo(hi, 9);
    expect(row.slice(7, 10).map(Number)).toEqual([roles, scored, expected]);
    expect(textsIn(files.html, key).length).toBeGreaterThan(0);
    expect(new Set(textsIn(files.html, key))).toEqual(new Set([text]));
    expect(files.markdown).toContain(text);
  });

  it("takes the difference in differences with Welch's degrees of freedom", () => {
    const [seen, unseen] = [sd(SEEN_GAINS) ** 2 / 3, sd(UNSEEN_GAINS) ** 2 / 2];
    const cell = indexed(model.cells).get("generalisation/chosen-vs-base/test/did");
    expect(cell?.estimate).toBeCloseTo(mean(UNSEEN_GAINS) - mean(SEEN_GAINS), 12);
    // df = (A + B)² / (A²/2 + B²/1) lies between 1 and 3, so the interval lies between those of t(1) and t(3).
    const half = (cell?.hi ?? 0) - (cell?.estimate ?? 0);
    expect(half).toBeGreaterThan(3.182 * Math.sqrt(seen + unseen));
    expect(half).toBeLessThan(12.707 * Math.sqrt(seen + unseen));
  });

  it("averages a measure inside a role and then over roles", () => {
    // Role a has durations 1 and 2 for the base model, b and c have 1: (1.5 + 1 + 1) / 3.
    expect(Number(csvRow("level/base/test/seen/duration")[4])).toBeCloseTo(3.5 / 3, 12);
    expect(Number(csvRow("difference/chosen-vs-base/test/seen/duration")[4])).toBeCloseTo(1, 12);
  });

  it("shows the NLL of a turn and the change of a dialogue", () => {
    expect(textsIn(files.html, "turn/chosen/test/seen/a-0/1/nll")[0]).toBe("2.100");
    expect(textsIn(files.html, "dialogue/chosen-vs-base/test/seen/a-0")[0]).toBe("\u22120.400");
  });

  it("shows the losses of the checkpoints", () => {
    expect(textsIn(files.html, "checkpoint/run-1@20/dev/dev_loss")).toEqual(["2.250"]);
    expect(textsIn(files.html, "checkpoint/run-1@40/train/train_loss")).toEqual(["\u2014"]);
  });

  it("prints no number that is not a cell of the model, and each as the model has it", () => {
    const cells = indexed(model.cells);
    const printed = [...files.html.matchAll(/data-cell="([^"]*)"/g)].map(([, key]) => key ?? "");
    expect(printed.length).toBeGreaterThan(100);
    for (const key of new Set(printed)) {
      const cell = cells.get(key);
      expect(cell, key).toBeDefined();
      if (cell) expect(new Set(textsIn(files.html, key)), key).toEqual(new Set([cellText(cell)]));
    }
  });

  it("has a row in the CSV for every cell", () => {
    expect(
      files.csv.startsWith(
        "\uFEFFtable,system,suite,outcome,estimate,lo,hi,n_roles,n_scored,n_expected,unit,reason\r\n",
      ),
    ).toBe(true);
    expect(files.csv.trimEnd().split("\r\n")).toHaveLength(model.cells.length + 1);
  });

  it("leaves all eight metrics and their overall empty with a reason", () => {
    const judged = model.outcomes.filter(({ group }) => group === "judged").map(({ id }) => id);
    expect(judged).toHaveLength(9);
    for (const id of judged) {
      expect(csvRow(`level/chosen/test/seen/${id}`).slice(4)).toEqual([
        "",
        "",
        "",
        "0",
        "0",
        "4",
        "ratio",
        "unscored: no judge",
      ]);
    }
  });
});
