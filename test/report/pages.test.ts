import { mkdtemp, readFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { buildReport, type ReportInput, writeReport } from "../../src/report/index.ts";
import { spelledOut, textPieces } from "../../src/report/odd-characters.ts";
import { byGains, handInput, withResult } from "./hand-input.ts";
import { removeFolder } from "../support/remove-folder.ts";

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "pages-"));
});
afterAll(() => removeFolder(folder));

let counter = 0;
const pages = async (input: ReportInput): Promise<{ html: string; markdown: string; csv: string }> => {
  const path = await writeReport(buildReport(input), input, join(folder, String(counter++)));
  const read = async (name: string): Promise<string> => readFile(path.replace("index.html", name), "utf8");
  return { html: await read("index.html"), markdown: await read("report.md"), csv: await read("report.csv") };
};
const plain = handInput(byGains("s", [0.3, 0.4, 0.5]), byGains("u", [0.1, 0.2]));
const looked: ReportInput = { ...plain, limits: { textTokens: 256, seconds: 20 } };
const told = (html: string): string => html.replace(/<[^>]*>/g, "");

describe("a failure that nobody looked for", () => {
  it("is not 0: silence without a measure, a cut answer without limits", () => {
    const count = (input: ReportInput, name: string) =>
      buildReport(input).cells.find(({ key }) => key === `level/base/test/seen/failed_${name}`);
    expect(count(plain, "silent")).toMatchObject({ estimate: null, reason: "silence was not measured" });
    expect(count(plain, "cut")).toMatchObject({
      estimate: null,
      reason: "the limits of decoding are not known",
    });
    expect(count(plain, "missing")).toMatchObject({ estimate: 0, reason: null });
    const listened = withResult(looked, { system: "base", suite: "test/seen" }, (result) => ({
      measures: result.measures.map((row) => ({ ...row, measure: "silence_share", unit: "1", value: 1 })),
    }));
    expect(count(listened, "silent")).toMatchObject({ estimate: 3, reason: null });
    expect(count(listened, "cut")).toMatchObject({ estimate: 0, reason: null });
  });

  it("is a wrong language, on every page", async () => {
    const { html, markdown, csv } = await pages(looked);
    expect(csv).toContain("level,base,test/seen,failed_wrong_language,,,,,,3,answers,not checked\r\n");
    expect(csv).toContain("level,base,test/seen,failed_cut,0,");
    expect(markdown).toMatch(/\| of these wrong language, answers \| — \(not checked\) \|/);
    const cell = html.slice(html.indexOf('data-cell="level/base/test/seen/failed_wrong_language"'));
    expect(told(cell.slice(cell.indexOf(">") + 1, cell.indexOf("</td>")))).toMatch(/^—\s+not checked$/);
    // A class that was looked for and never happened has no row.
    expect(html).not.toContain('data-cell="level/base/test/seen/failed_cut"');
  });
});

describe("provenance", () => {
  const entries = (origin: string | null): ReportInput["provenance"] => [
    { group: "Settings", name: "training.lora.rank", value: "64", origin },
    { group: "Settings", name: "model.kind", value: "tiny", origin: null },
    { group: "Versions", name: "torch", value: "2.13.0", origin: null },
  ];

  it("has no column for origins when nothing has one", async () => {
    const { html, markdown } = await pages({ ...plain, provenance: entries(null) });
    expect(html).not.toMatch(/Origin|class="origin"/);
    expect(markdown).toContain("| Group | Name | Value |\n");
  });

  it("shows each origin in the tables that have some, and settings by their first word", async () => {
    const { html, markdown } = await pages({ ...plain, provenance: entries("paper") });
    expect(html).toContain("<caption>Settings: training</caption>");
    expect(html).toContain('<td class="n"><span class="origin">paper</span></td>');
    expect(html.match(/<th scope="col" class="n">Origin<\/th>/g)).toHaveLength(1);
    expect(told(html)).toContain("lora.rank");
    expect(markdown).toContain("| Settings | training.lora.rank | 64 | paper |");
  });
});

describe("text that cannot be read", () => {
  it("is cut at every character that is no text, and nothing is lost", () => {
    const text = "a\u0007b\uFFFD\u202Ec\uD800 d\n\te";
    const pieces = textPieces(text);
    expect(pieces.map((piece) => piece.text).join("")).toBe(text);
    expect(pieces.filter(({ odd }) => odd).map((piece) => piece.text)).toEqual([
      "\u0007",
      "\uFFFD",
      "\u202E",
      "\uD800",
    ]);
    for (const whole of ["", "悟空：来也！", "naïve — “quoted” 👩‍🚀", "שלום"]) {
      expect(textPieces(whole).filter(({ odd }) => odd)).toEqual([]);
    }
    expect(spelledOut("a\u0000b\u202Ec")).toBe("a[U+0000]b[U+202E]c");
  });

  it("is marked and counted on the page, and spelled out in the Markdown", async () => {
    const spoilt = withResult(plain, { system: "base", suite: "test/seen" }, (result) => ({
      answers: result.answers.map((row) => ({
        ...row,
        text: "^\u0010\uFFFDo\u202E",
        failure: { code: "TEXT_FAILED", message: "bell \u0007 rang" },
      })),
    }));
    const { html, markdown } = await pages(spoilt);
    expect(html).toContain('^<span class="odd" title="U+0010">10</span>');
    expect(html).toContain("3 of 5 characters cannot be read");
    expect(markdown).toContain("bell [U+0007] rang");
    const odd = textPieces(html + markdown).flatMap((piece) => (piece.odd ? [piece.text] : []));
    expect(new Set(odd)).toEqual(new Set(["\uFFFD"]));
  });

  it("ends a cut role card at a word", async () => {
    const card = { id: "s00-multi-0", role: "s00", language: "en", kind: "multi", turns: [] } as const;
    const { html } = await pages({
      ...plain,
      dialogues: [{ ...card, cardExcerpt: "You are the captain of a sh" }],
    });
    expect(html).toContain("You are the captain of a …</p>");
  });
});

describe("failed answers", () => {
  it("are grouped by what went wrong, counted from 1, and lead to their dialogue", async () => {
    const failing = withResult(plain, { system: "last", suite: "test/seen" }, (result) => ({
      answers: result.answers.map((row) => ({
        ...row,
        failure: { code: "SPEECH_FAILED", message: "broke" },
      })),
    }));
    const { html, markdown } = await pages(failing);
    const list = html.slice(html.indexOf('id="failures"'));
    expect(list).toContain("<b>error</b>: broke");
    expect(told(list)).toContain("3 answers, 3 roles");
    expect(told(list)).toContain("s00-multi-0 turn 1");
    const anchor = /href="#(d\d+)">s01-multi-0</.exec(list)?.[1] ?? "";
    const target = html.slice(html.indexOf(`<details class="dialogue" id="${anchor}">`));
    expect(told(target.slice(0, target.indexOf("</summary>")))).toContain("s01-multi-0");
    expect(markdown).toContain(
      "| test/seen | last (step 40) | error | broke | 3 | Role s00 1, Role s01 1, Role s02 1 |",
    );
  });
});

describe("the loss chart", () => {
  it("names the compared checkpoints by their step", async () => {
    const { html } = await pages(plain);
    const chart = html.slice(html.indexOf('id="training"'), html.indexOf('id="listen"'));
    // The systems' digests (of weights on a base) are not those of the checkpoints.
    const other = {
      ...plain,
      checkpoints: plain.checkpoints.map((one) => ({ ...one, weightsDigest: `files of ${one.id}` })),
    };
    const changed = (await pages(other)).html;
    expect(chart).toContain("last (step 40)");
    expect(changed.slice(changed.indexOf('id="training"'), changed.indexOf('id="listen"'))).toContain(
      "last (step 40)",
    );
  });
});
