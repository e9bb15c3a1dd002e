import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { importCorpus } from "../../../src/dataset/import/import-corpus.ts";
import { draftOf, openGiven, projectOf, readAll } from "./support.ts";

const SOURCE = { format: "manifest" };
const HEAD = "dialogue_id,role_id,split,context,user_text,user_audio,role_text,role_audio";
const read = async (csv: string | Uint8Array): Promise<Awaited<ReturnType<typeof readAll>>> =>
  readAll(await openGiven(await projectOf(SOURCE, { "a.csv": csv })));

describe("a CSV manifest", () => {
  it.each([
    ["\n", ""],
    ["\r\n", "\ufeff"],
    ["\r", ""],
  ])(
    "has a turn in each row and a dialogue in rows that stand together (line end %j, mark %j)",
    async (end, mark) => {
      const csv = [
        `${mark}${HEAD}`,
        '1,thor,,"a ""scene"", 胡\nnext",q1,a.wav,r1,data:audio/wav;base64,QUJD',
        '1,,,,"q2, more",b.wav,r2,',
        "2,Prof. G.H. Dorr,test,,q3,c.wav,r3,d.wav",
      ].join(end);
      const { found, again } = await read(
        csv
          .replaceAll("base64,QUJD", '"base64,QUJD"')
          .replace('data:audio/wav;"base64,QUJD"', '"data:audio/wav;base64,QUJD"'),
      );
      expect(found.map(({ role, kind, pool, place }) => [role.slug, kind, pool, place.index])).toEqual([
        ["thor", "multi", "train", 0],
        ["dorr", "single", "test", 1],
      ]);
      const role = (clip: unknown): unknown => ({ cosyvoice2: clip, f5_tts: null, e2_tts: null });
      expect(found.map(draftOf)).toEqual([
        {
          category: null,
          context: 'a "scene", 胡\nnext',
          systemPrompt: null,
          promptFromProfile: false,
          turns: [
            {
              userText: "q1",
              roleText: "r1",
              user: { kind: "file", path: "a.wav" },
              role: role({ kind: "inline", data: "data:audio/wav;base64,QUJD" }),
            },
            { userText: "q2, more", roleText: "r2", user: { kind: "file", path: "b.wav" }, role: role(null) },
          ],
        },
        expect.objectContaining({ context: null, turns: [expect.objectContaining({ roleText: "r3" })] }),
      ]);
      expect(again).toEqual(found.map(draftOf));
    },
  );

  it("leaves out a dialogue with an empty text or without audio", async () => {
    const { found } = await read(`${HEAD}\n1,thor,,,q,a.wav,,\n2,thor,,,q,,r,\n3,thor,,,q,a.wav,r,\n`);
    expect(found.map(draftOf)).toEqual([
      { reason: "text_empty", turn: 0, detail: "the role text is empty" },
      { reason: "user_audio_missing", turn: 0, detail: 'no audio for the question "q"' },
      expect.objectContaining({ context: null }),
    ]);
  });

  it.each([
    [
      "id,text\n1,2\n",
      "",
      "it has no column dialogue_id, role_id, user_text, user_audio, role_text; it has id, text",
    ],
    [
      `${HEAD}\n1,thor,,,q,a.wav,r,\n2,thor,,,q,a.wav,r,\n1,thor,,,q2,a.wav,r,\n`,
      ":4",
      'the rows of dialogue "1" do not stand together',
    ],
    [
      `${HEAD}\n1,thor,,,q,a.wav,r,\n1,dorr,,,q,a.wav,r,\n`,
      ":2",
      'the rows of this dialogue disagree on role_id: "thor" and "dorr"',
    ],
    [`${HEAD}\n,thor,,,q,a.wav,r,\n`, ":2", "this row has no dialogue_id"],
    [`${HEAD},user_text\n1,thor,,,q,a.wav,r,,q2\n`, "", "it has the column user_text twice"],
    ["", "", "it is empty: its first line must name the columns"],
    [
      `${HEAD}\n1,thor,,,he said "so",a.wav,r,\n`,
      ":2",
      'a quote stands within a cell: put the cell into quotes, and write a quote inside it twice: "he said ""so"""',
    ],
    [`${HEAD}\n1,thor,,,q,a.wav\n`, ":2", "this row has 6 cells, and the first line names 8 columns"],
    [
      `${HEAD}\n1,thor,,,q,a.wav,r,\n2,thor,,,"q,a.wav,r,\n`,
      ":3",
      "the file ends within a cell: a quote before this is not closed",
    ],
    [
      `${HEAD}\n1,thor,,,"so" he said,a.wav,r,\n`,
      ":2",
      'a cell goes on after its closing quote: put the cell into quotes, and write a quote inside it twice: "he said ""so"""',
    ],
    [
      `${HEAD}\n1,thor,,,q,a.wav,r,\n`.replaceAll(",", ";"),
      ":1",
      'the columns seem to be divided by ";"; commas are needed',
    ],
    [
      `\ufeffsep=;\r\n${HEAD}\n`.replaceAll(",", ";"),
      ":1",
      'the columns seem to be divided by ";"; commas are needed',
    ],
    [
      `"${HEAD}"\r\n1,thor\r\n`.replaceAll(",", '";"'),
      ":1",
      'the columns seem to be divided by ";"; commas are needed',
    ],
    [
      `${HEAD}\n1,thor,,,q,a.wav,r,\n`.replaceAll(",", "\t"),
      ":1",
      "the columns seem to be divided by tabs; commas are needed",
    ],
  ])("stops at what is no manifest, by file and line: %j", async (csv, line, message) => {
    const project = await projectOf(SOURCE, { "a.csv": csv });
    await expect(openGiven(project).then(readAll)).rejects.toMatchObject({
      code: "CSV_INVALID",
      message: `${join(project.datasets, "given", "a.csv")}${line}: ${message}`,
    });
  });

  it("says where it is not UTF-8", async () => {
    const csv = Buffer.from(`${HEAD}\n1,thor,,,caf\u00e9,a.wav,r,\n`, "latin1");
    await expect(read(csv)).rejects.toMatchObject({
      code: "CSV_INVALID",
      message: expect.stringMatching(/a\.csv:2: this byte is not UTF-8$/),
    });
  });

  it("is not taken for UTF-8 when it is UTF-16", async () => {
    await expect(read(Buffer.from(`\ufeff${HEAD}\n`, "utf16le"))).rejects.toMatchObject({
      message: expect.stringMatching(/a\.csv:1: the file is UTF-16: save it as UTF-8$/),
    });
  });

  it.each([`${HEAD}\n1,thor,,,"q,a.wav,r,\n`, `${HEAD}\n1,"thor",,\n`, undefined])(
    "that changed since it was read is told to have changed: %j",
    async (later) => {
      const project = await projectOf(SOURCE, { "a.csv": `${HEAD}\n1,thor,,,q,a.wav,r,\n` });
      const source = await openGiven(project);
      const [one] = (await readAll(source)).found;
      const path = join(project.datasets, "given", "a.csv");
      await (later === undefined ? rm(path) : writeFile(path, later));
      await expect(one && source.read(one)).rejects.toMatchObject({
        code: "SOURCE_CHANGED",
        message: "a.csv changed while it was being packed",
      });
    },
  );

  it("is imported", async () => {
    const project = await projectOf(SOURCE, { "a.csv": `${HEAD}\n1,thor,,,q,a.wav,r,\n1,,,,q,a.wav,r,\n` });
    const report = await importCorpus({ project, folder: join(project.datasets, "given"), name: "mine" });
    expect(report).toMatchObject({ format: "manifest", dialogues: { train: 1 }, turns: 2 });
  });
});
