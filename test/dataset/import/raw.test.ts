import { mkdir, mkdtemp, readdir, readFile, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { importRaw } from "../../../src/dataset/import/import-raw.ts";
import { readCompletion } from "../../../src/dataset/import/raw-dialogues.ts";
import { removeFolder } from "../../support/remove-folder.ts";

const folderOf = async (files: Readonly<Record<string, string | Uint8Array>>): Promise<string> => {
  const folder = await mkdtemp(join(tmpdir(), "understudy-raw-"));
  onTestFinished(() => removeFolder(folder));
  for (const [path, content] of Object.entries(files)) {
    await mkdir(dirname(join(folder, path)), { recursive: true });
    await writeFile(join(folder, path), content);
  }
  return folder;
};
const item = (user: string, role: string, context?: string): unknown => ({
  dialogue: [{ user, role }],
  ...(context === undefined ? {} : { context }),
});
const lines = async (path: string): Promise<unknown[]> =>
  (await readFile(path, "utf8"))
    .trim()
    .split("\n")
    .map((line): unknown => JSON.parse(line));

describe("completions of a model", () => {
  it("become role files, a report and a quarantine; nothing is lost without a word", async () => {
    const folder = await folderOf({
      "raw/Thor/0_0.json": JSON.stringify([item("b?", "B.", "scene"), item("c?", " C. "), item("d?", "")]),
      "raw/Thor/10_0.json": "```json\n" + JSON.stringify(item("e?", "E.")) + "\n```",
      "raw/Thor/2_0.json": JSON.stringify({
        dialogues: [item("B?", "b."), { dialogue: [{ user: "f?", assistant: "F." }] }],
      }),
      "raw/Thor/3_0.json": '[{"dialogue": [{"user": "胡", "role": "cut',
      "raw/Thor/4_0.json": "[]",
      "raw/Thor/5_0.json": "{}",
      "raw/Thor/6_0.json": Buffer.from('[{"a": "\u00e9"}]', "latin1"),
      "raw/Thor/notes.txt": "not a completion",
      "raw/Thor/3.json": "[]",
      "raw/Loki/a_0.json": "[]",
      "raw/Prof. X/0_0.json": JSON.stringify([item("b?", "B.")]),
    });
    const output = join(folder, "out");
    const report = await importRaw({ folder: join(folder, "raw"), kind: "single", output });
    expect(report).toEqual({
      kind: "single",
      files: 8,
      misnamed: ["Loki/a_0.json", "Thor/3.json"],
      dialogues: 5,
      turns: 5,
      byRole: { "Prof. X": 1, Thor: 4 },
      repairs: { wrapper: 1, role_key: 1, code_fence: 1, single_object: 1 },
      repairedFiles: 2,
      quarantined: 4,
      drops: { text_empty: 1, duplicate: 1 },
      dropList: [
        { file: "Thor/0_0.json", item: 2, reason: "text_empty", detail: "turn 1: the role text is empty" },
        { file: "Thor/2_0.json", item: 0, reason: "duplicate", detail: "the role has this dialogue" },
      ],
    });
    expect(JSON.parse(await readFile(join(output, "Thor.json"), "utf8"))).toEqual([
      item("b?", "B.", "scene"),
      item("c?", "C."),
      item("f?", "F."),
      item("e?", "E."),
    ]);
    expect(JSON.parse(await readFile(join(output, "report.json"), "utf8"))).toEqual(report);
    expect(await lines(join(output, "quarantine.jsonl"))).toEqual([
      {
        file: "Thor/3_0.json",
        reason: "json_invalid",
        offset: 39,
        detail: "the string that begins here has no end",
      },
      { file: "Thor/4_0.json", reason: "empty", offset: 0, detail: "its list is empty" },
      { file: "Thor/5_0.json", reason: "shape", offset: 0, detail: "it holds no list of dialogues" },
      { file: "Thor/6_0.json", reason: "encoding", offset: 8, detail: "this byte is not UTF-8" },
    ]);
    expect((await readdir(folder)).toSorted()).toEqual(["out", "raw"]);
  });

  it("are not written over an output, and leave none when something fails", async () => {
    const folder = await folderOf({
      "raw/Thor/0_0.json": JSON.stringify([item("a?", "A.")]),
      "out/mine.txt": "mine",
    });
    const options = { folder: join(folder, "raw"), kind: "single", output: join(folder, "out") } as const;
    await expect(importRaw(options)).rejects.toMatchObject({ code: "OUTPUT_EXISTS" });
    expect(await readdir(options.output)).toEqual(["mine.txt"]);
    await expect(importRaw({ ...options, force: true, signal: AbortSignal.abort() })).rejects.toThrow(
      "aborted",
    );
    expect(await readdir(options.output)).toEqual(["mine.txt"]);
    expect((await readdir(folder)).toSorted()).toEqual(["out", "raw"]);
    await importRaw({ ...options, force: true });
    expect((await readdir(options.output)).toSorted()).toEqual(["Thor.json", "report.json"]);
    await expect(
      importRaw({ ...options, folder: options.output, output: join(folder, "b") }),
    ).rejects.toMatchObject({
      code: "SOURCE_MISSING",
    });
  });
});

describe("one completion", () => {
  const read = (value: unknown, kind: "single" | "multi" = "single"): unknown => {
    const found = readCompletion(JSON.stringify(value), { stem: "Thor", kind });
    return found.outcome === "read" ? (found.drops[0] ?? found.dialogues[0]) : found;
  };
  it.each([
    [
      "a turn without an answer",
      [{ dialogue: [{ user: "a" }] }],
      { reason: "turn_incomplete", detail: "turn 1: no text under role" },
    ],
    [
      "a turn without a question",
      [{ dialogue: [{ role: "a" }] }],
      { reason: "turn_incomplete", detail: "turn 1: no text under user" },
    ],
    [
      "too many turns",
      [
        {
          dialogue: [
            { user: "a", role: "b" },
            { user: "c", role: "d" },
          ],
        },
      ],
      { reason: "turn_count", detail: "a single dialogue of 2 turns" },
    ],
    ["no dialogue", [{ talk: [] }], { reason: "shape", detail: "no object with a list `dialogue`" }],
    [
      "a NUL",
      [item("a\0", "b")],
      { reason: "text_invalid", detail: "turn 1: the user text holds a NUL character" },
    ],
    [
      "half a surrogate pair",
      [item("a", "b", "\ud800")],
      { reason: "text_invalid", detail: "context holds half of a surrogate pair" },
    ],
    [
      "the example of the prompt",
      [item("Tony Stark?", "Yes.")],
      { reason: "prompt_example", detail: "it speaks of Tony Stark" },
    ],
    [
      "the writing model",
      [item("a", "As an AI I cannot.")],
      { reason: "meta_text", detail: expect.stringContaining("As an AI") },
    ],
  ])("drops %s, with its reason", (_, value, drop) => {
    expect(read(value)).toEqual({ item: 0, ...drop });
  });

  it("gives text in one Unicode form", () => {
    expect(read([item("Cafe\u0301?", "e\u0301")])).toEqual({
      item: 0,
      ...Object(item("Caf\u00e9?", "\u00e9")),
    });
  });
});
