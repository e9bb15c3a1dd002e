import { readFileSync } from "node:fs";
import { mkdtemp, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { sha256 } from "../../src/core/hash.ts";
import { coverageOf, failuresOf, readResults } from "../../src/evaluate/index.ts";
import { answer, instance, measure, score } from "./rows.ts";
import { removeFolder } from "../support/remove-folder.ts";

const expected = [instance("d2"), instance("d1", 1), instance("d1")];

describe("readResults", () => {
  let folder: string;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), "results-"));
  });
  afterEach(() => removeFolder(folder));

  const write = async (name: string, rows: readonly unknown[], tail = ""): Promise<string> => {
    const text = rows.map((row) => `${JSON.stringify(row)}\n`).join("") + tail;
    await writeFile(join(folder, name), text);
    return text;
  };
  const read = async () =>
    readResults({
      system: "base",
      suite: "test/seen",
      expected,
      folders: { scores: folder, answers: folder, measures: folder },
    });

  it("reads rows into one order and keeps every expected instance", async () => {
    await write("scores.jsonl", [score(instance("d2"), 3), score(instance("d1"), 1)]);
    await write("answers.jsonl", [answer(instance("d1", 1)), answer(instance("d1"))]);
    await write("measures.jsonl", [measure(instance("d2"), "duration", null)]);
    const result = await read();
    expect(result.expected.map(({ dialogue, turn }) => `${dialogue}/${turn}`)).toEqual([
      "d1/0",
      "d1/1",
      "d2/0",
    ]);
    expect(result.scores.map(({ nll }) => nll)).toEqual([1, 3]);
    const coverage = coverageOf(result);
    expect(coverage.scores).toMatchObject({ scored: 2, expected: 3, missing: [{ dialogue: "d1", turn: 1 }] });
    expect(coverage.answers).toMatchObject({ scored: 2, expected: 3 });
    expect(coverage.measures.get("duration")).toMatchObject({ scored: 0, expected: 3 });
  });

  it("counts nothing where nothing was written", async () => {
    expect(coverageOf(await read()).scores).toMatchObject({ scored: 0, expected: 3 });
  });

  it("leaves a torn last line out", async () => {
    await write("scores.jsonl", [score(instance("d1"), 1)], '{"dialogue":"d2"');
    expect((await read()).scores).toHaveLength(1);
  });

  it("refuses a row that appears twice", async () => {
    await write("scores.jsonl", [score(instance("d1"), 1), score(instance("d1"), 1)]);
    await expect(read()).rejects.toMatchObject({ code: "ROW_TWICE" });
  });

  it("allows one instance with two measures, not one measure twice", async () => {
    const rows = [measure(instance("d1"), "duration", 1), measure(instance("d1"), "clipping", 0)];
    await write("measures.jsonl", rows);
    expect((await read()).measures).toHaveLength(2);
    await write("measures.jsonl", [...rows, rows[0]]);
    await expect(read()).rejects.toMatchObject({ code: "ROW_TWICE" });
  });

  it.each([
    ["an unknown dialogue", instance("d9")],
    ["an unknown turn", instance("d2", 1)],
    ["another role", instance("d1", 0, "luna")],
  ])("refuses %s", async (_, at) => {
    await write("scores.jsonl", [score(at, 1)]);
    await expect(read()).rejects.toMatchObject({ code: "ROW_UNEXPECTED" });
  });

  it.each([
    ["an unknown key", { ...score(instance("d1"), 1), extra: 1 }],
    ["a negative likelihood", score(instance("d1"), -1)],
    ["no token", score(instance("d1"), 1, 0)],
    ["text for a number", { ...score(instance("d1"), 1), nll: "1" }],
  ])("refuses %s", async (_, row) => {
    await write("scores.jsonl", [row]);
    await expect(read()).rejects.toMatchObject({ code: "FILE_INVALID" });
  });

  it.each(["../../secret.wav", "/etc/passwd", "audio/../../x.wav"])("refuses audio at %s", async (audio) => {
    await write("answers.jsonl", [answer(instance("d1"), { audio })]);
    await expect(read()).rejects.toMatchObject({ code: "AUDIO_OUTSIDE" });
  });

  it("compares rows with the mark of the finished task", async () => {
    const text = await write("scores.jsonl", [score(instance("d1"), 1)]);
    const done = { schemaVersion: 1, rows: 1, sha256: sha256(text) };
    await writeFile(join(folder, "_DONE.json"), JSON.stringify(done));
    const only = { scores: folder, answers: null, measures: null };
    const request = { system: "base", suite: "test/seen", expected, folders: only } as const;
    expect((await readResults(request)).scores).toHaveLength(1);
    await write("scores.jsonl", [score(instance("d1"), 2)]);
    await expect(readResults(request)).rejects.toMatchObject({ code: "ROWS_CHANGED" });
  });

  it.each([
    ["TEXT_FAILED", "error"],
    ["EMPTY_TEXT", "missing"],
    ["NO_AUDIO", "missing"],
    ["AUDIO_NOT_FINITE", "error"],
    ["SPEECH_FAILED", "error"],
    // Words that the payload never sends are not understood by half.
    ["wrong_language", "error"],
    ["cut", "error"],
  ])("takes the payload's %s for %s", async (code, kind) => {
    await write("answers.jsonl", [answer(instance("d1"), { failure: { code, message: "in words" } })]);
    expect(failuresOf(await read())[0]).toMatchObject({ class: kind, message: "in words" });
  });

  it("knows every failure code of the contract", () => {
    const contract = readFileSync(join(import.meta.dirname, "../../launchers/payload/CONTRACT.md"), "utf8");
    const codes = contract
      .slice(contract.indexOf("Failure codes:"))
      .match(/`[A-Z_]+`/g)
      ?.slice(0, 5);
    expect(codes).toEqual([
      "`TEXT_FAILED`",
      "`EMPTY_TEXT`",
      "`NO_AUDIO`",
      "`AUDIO_NOT_FINITE`",
      "`SPEECH_FAILED`",
    ]);
  });

  it("lists what is missing, and an unknown word as an error with its text", async () => {
    await write("answers.jsonl", [
      answer(instance("d1"), { failure: { code: "NO_AUDIO", message: "no code" } }),
      answer(instance("d1", 1), { failure: { code: "meteor", message: "" } }),
    ]);
    const failures = failuresOf(await read());
    expect(
      failures.map(({ instance: at, class: kind, message }) => [at.dialogue, at.turn, kind, message]),
    ).toEqual([
      ["d1", 0, "missing", "no code"],
      ["d1", 1, "error", "meteor"],
      ["d2", 0, "missing", "there is no answer"],
    ]);
  });

  it("knows silence and cut answers from measures and limits", async () => {
    await write("answers.jsonl", [
      answer(instance("d1"), { seconds: 20.48 }),
      answer(instance("d1", 1), { textTokens: 256 }),
      answer(instance("d2")),
    ]);
    await write("measures.jsonl", [{ ...measure(instance("d2"), "silence_share", 1), unit: "1" }]);
    const result = await read();
    const classes = (limits?: { textTokens: number; seconds: number }) =>
      failuresOf(result, limits).map((failure) => [failure.instance.dialogue, failure.class]);
    expect(classes()).toEqual([["d2", "silent"]]);
    expect(classes({ textTokens: 256, seconds: 20.48 })).toEqual([
      ["d1", "cut"],
      ["d1", "cut"],
      ["d2", "silent"],
    ]);
    expect(classes({ textTokens: 257, seconds: 20.6 })).toEqual([["d2", "silent"]]);
  });

  it("knows an answer without audio and one without length", async () => {
    await write("answers.jsonl", [
      answer(instance("d1"), { audio: null, sha256: null, seconds: null }),
      answer(instance("d1", 1), { seconds: 0 }),
      answer(instance("d2"), { failure: { code: "SPEECH_FAILED", message: "the talker broke" } }),
    ]);
    expect(failuresOf(await read()).map((failure) => failure.class)).toEqual(["missing", "silent", "error"]);
  });
});
