import { mkdtemp, readdir, readFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { buildReport, type ReportInput, writeReport } from "../../src/report/index.ts";
import { byGains, handInput } from "./hand-input.ts";
import { sampleWav } from "./sample-wav.ts";
import { removeFolder } from "../support/remove-folder.ts";

const SCRIPT = "</script><script>alert(1)</script>";
const FORMULA = '=HYPERLINK("http://x")';
const NAMES = [
  FORMULA,
  "D'Artagnan",
  "Dr. Frank-N-Furter",
  "HAL 9000",
  "悟空",
  SCRIPT,
  "| a | b |",
  "[click](http://x)",
  "<img src=x onerror=alert(1)>",
];

/** Everything that comes from outside is hostile. */
const hostile = (): ReportInput => {
  const turns = NAMES.map((name, index) => ({
    ...(byGains("s", [0.1 * index])[0] ?? { tokens: 1, turn: 0, nll: { base: 1, chosen: 1, last: 1 } }),
    role: name,
    dialogue: `../../${name}`,
  }));
  const input = handInput(turns, []);
  return {
    ...input,
    run: SCRIPT,
    recipe: FORMULA,
    roles: NAMES.map((name) => ({ id: name, name, language: "en", source: SCRIPT })),
    evaluation: {
      ...input.evaluation,
      judge: { status: "none", reason: SCRIPT },
      systems: input.evaluation.systems.map((system) => ({ ...system, label: `${system.label} ${SCRIPT}` })),
      results: input.evaluation.results.map((result) => ({
        ...result,
        answers: result.answers.map((row) => ({
          ...row,
          text: `${SCRIPT} javascript:alert(1) &amp; "quoted"`,
          failure: { code: SCRIPT, message: `"><img src=x onerror=alert(2)>` },
        })),
        measures: result.measures.map((row) => ({
          ...row,
          measure: `@sum "x" <b>`,
          unit: SCRIPT,
          reason: null,
        })),
      })),
    },
    dialogues: NAMES.map((name) => ({
      id: `../../${name}`,
      role: name,
      language: "zh",
      kind: "multi",
      cardExcerpt: SCRIPT,
      turns: [
        {
          turn: 0,
          userText: SCRIPT,
          userAudio: { kind: "bytes", bytes: sampleWav(0.1, 200) },
          roleText: "俺老孙来也 <b>",
          references: [{ label: `${SCRIPT}/../../x`, audio: { kind: "bytes", bytes: sampleWav(0.1, 300) } }],
        },
      ],
    })),
    provenance: [{ group: SCRIPT, name: FORMULA, value: SCRIPT, origin: SCRIPT }],
  };
};

describe("hostile input", () => {
  let folder: string;
  let html: string;
  let files: string[];
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "escape-"));
    const input = hostile();
    await writeReport(buildReport(input), input, join(folder, "report"));
    html = await readFile(join(folder, "report/index.html"), "utf8");
    files = await readdir(join(folder, "report/audio"));
  });
  afterAll(() => removeFolder(folder));

  it("puts no foreign markup into the page", () => {
    expect(html.match(/<script/g)).toHaveLength(1);
    expect(html.includes("<script>alert")).toBe(false);
    expect(/<img/i.test(html)).toBe(false);
    expect(html.includes("&#60;script&#62;alert(1)")).toBe(true);
    // With every attribute value cut out, no attribute is left that would handle an event.
    const names = html.match(/<[a-z][^>]*>/gi)?.map((tag) => tag.replace(/="[^"]*"/g, "")) ?? [];
    expect(names.filter((tag) => /\son[a-z]+/i.test(tag))).toEqual([]);
  });

  it("asks for nothing from elsewhere", () => {
    const links = [...html.matchAll(/\s(?:src|href)="([^"]*)"/g)].map(([, link]) => link ?? "");
    expect(links.length).toBeGreaterThan(10);
    expect(
      links.filter((link) => !/^(#[a-z0-9]+|audio\/[0-9a-f]{24}\.wav|(report|model)\.[a-z]+)$/.test(link)),
    ).toEqual([]);
    // Charts refer to their own clip paths; nothing else is referred to.
    expect(/@import|url\((?!#)|base64,/.test(html)).toBe(false);
  });

  it("names audio by its content alone", () => {
    expect(files.every((name) => /^[0-9a-f]{24}\.wav$/.test(name))).toBe(true);
    expect(files).toHaveLength(2);
  });

  it("says where a recorded answer has no file", () => {
    expect(html.includes("no audio: the file is gone")).toBe(true);
  });

  it("starts the CSV with a mark for spreadsheets and runs no formula in it", async () => {
    const bytes = await readFile(join(folder, "report/report.csv"));
    expect(bytes.subarray(0, 3).toString("hex")).toBe("efbbbf");
    const text = bytes.toString("utf8");
    expect(text).toContain(`,"'=HYPERLINK(""http://x"")",`);
    expect(
      text
        .split("\r\n")
        .flatMap((line) => line.split(","))
        .filter((cell) => /^"?[=@+]/.test(cell)),
    ).toEqual([]);
  });

  it("puts no markup and no table break into the Markdown", async () => {
    const markdown = await readFile(join(folder, "report/report.md"), "utf8");
    expect(markdown).not.toContain("<");
    expect(markdown).toContain("[click\\](http://x)");
    const rows = markdown.split("\n").filter((line) => line.startsWith("| "));
    const provenance = rows.findLast((row) => row.includes("HYPERLINK") && row.includes("script"));
    expect(provenance?.match(/(?<!\\)\|/g)).toHaveLength(5);
  });

  it("marks Chinese text as Chinese", () => {
    expect(html.includes('<span lang="zh-Hans">俺老孙来也 &#60;b&#62;</span>')).toBe(true);
  });

  it("keeps names whole", () => {
    for (const name of ["HAL 9000", "Dr. Frank-N-Furter", "悟空"])
      expect(html.includes(name), name).toBe(true);
    expect(html.includes("D&#39;Artagnan")).toBe(true);
  });
});
