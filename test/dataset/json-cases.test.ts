import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { packDataset } from "../../src/dataset/index.ts";
import { makeCorpus, makeProject, projectWith, toneClip, writeCorpus, type Corpus } from "./corpus.ts";

const FILE = "train/multi/Thor.json";
const base64 = Buffer.from(toneClip(7)).toString("base64");
const inline = (audio: string): Record<string, unknown> => ({
  user: "q",
  role: "Well said.",
  user_speech_base64: audio,
  role_speech_base64: base64,
});
const TURN = JSON.stringify(inline(base64));

/** The first dialogue of a role file with this text in its place; the second one stays as it is. */
const packedWith = async (
  text: string | Buffer,
  change: (corpus: Corpus) => unknown = () => {},
): Promise<Awaited<ReturnType<typeof packDataset>>["lock"]> => {
  const corpus = makeCorpus();
  change(corpus);
  const second = JSON.stringify(corpus.dialogues.get(FILE)?.[1]);
  const project = await makeProject();
  await writeCorpus(project, corpus);
  const bytes = Buffer.concat([Buffer.from("["), Buffer.from(text), Buffer.from(`,\n${second}]`)]);
  await writeFile(join(project.datasets, "small", FILE), bytes);
  return (await packDataset({ project, name: "small" })).lock;
};
const place = expect.stringMatching(/^train\/multi\/Thor\.json: ".+"$/s);

describe("a dialogue of a role file is left out by file, role, dialogue and turn for", () => {
  it.each<readonly [name: string, text: string | Buffer, reason: string, turn: number | null, RegExp]>([
    [
      "another encoding",
      Buffer.concat([
        Buffer.from('{"dialogue": [{"user": "'),
        Buffer.from([0xba, 0xfa]),
        Buffer.from('"}]}'),
      ]),
      "json_invalid",
      null,
      /^byte 24 of the dialogue ".*": this byte is not UTF-8$/,
    ],
    [
      "a byte order mark inside the file",
      `\ufeff{"dialogue": [${TURN}, ${TURN}]}`,
      "json_invalid",
      null,
      /^byte 0 of the dialogue ".*": "\ufeff\{.*" is not JSON$/,
    ],
    [
      "NaN",
      '{"dialogue": [], "score": NaN}',
      "json_invalid",
      null,
      /^byte 26 of the dialogue .*"NaN}" is not JSON$/,
    ],
    [
      "a key that stands twice",
      `{"context": "a", "dialogue": [${TURN}], "context": "b"}`,
      "json_invalid",
      null,
      /: the key "context" stands twice in one object$/,
    ],
    ["no turns", '{"dialogue": []}', "shape", null, /^dialogue is empty$/],
    ["a turn too few", `{"dialogue": [${TURN}]}`, "turn_count", null, /^a multi dialogue of 1 turns$/],
    [
      "a data URL that is not base64",
      JSON.stringify({ dialogue: [inline(base64), inline("data:audio/wav,RIFF")] }),
      "audio_base64",
      1,
      /^user audio inline audio: the data URL is not base64$/,
    ],
    [
      "base64 that is cut off",
      JSON.stringify({ dialogue: [inline(base64), inline(base64.slice(0, 401))] }),
      "audio_base64",
      1,
      /^user audio inline audio: the base64 audio is cut off$/,
    ],
  ])("%s", async (_, text, ...[reason, turn, detail]) => {
    const { drops } = await packedWith(text);
    expect(drops.list).toEqual([
      { reason, role: "Thor", dialogue: place, turn, detail: expect.stringMatching(detail) },
    ]);
  });

  it("answers in another language than the role's", async () => {
    const chinese = { ...inline(base64), role: "我不知道你在说什么，请再说一遍。" };
    const dialogue = [inline(base64), chinese];
    const { drops } = await packedWith(JSON.stringify({ dialogue }), ({ spec, roles }) => {
      Object.assign(spec["checks"] ?? {}, { wrongLanguage: "drop" });
      // All texts of the corpus are English.
      for (const role of roles) role.language = "en";
    });
    expect(drops.list).toEqual([
      {
        reason: "wrong_language",
        role: "Thor",
        dialogue: place,
        turn: 1,
        detail: '0 % of its letters are Latin: "我不知道你在说什么，请再说一遍。"',
      },
    ]);
  });
});

describe("a dialogue of a role file is kept with", () => {
  it.each([
    ["base64 without a prefix", base64],
    ["base64 in lines", `data:audio/wav;base64,${base64.replaceAll(/.{76}/g, "$&\r\n")}`],
    ["another media type", `data:application/octet-stream;base64,${base64}`],
  ])("%s", async (_, audio) => {
    const turns = [inline(audio), { ...inline(audio), user: "q2" }];
    const { drops } = await packedWith(JSON.stringify({ dialogue: turns }));
    expect(drops.list).toEqual([]);
  });

  it("a byte order mark at the start of the file", async () => {
    const corpus = makeCorpus();
    const text = `\ufeff${JSON.stringify(corpus.dialogues.get(FILE))}`;
    const project = await projectWith((each) => {
      each.dialogues.delete(FILE);
      each.files.set(FILE, text);
    });
    const plain = await projectWith();
    expect((await packDataset({ project, name: "small" })).lock).toEqual(
      (await packDataset({ project: plain, name: "small" })).lock,
    );
  });
});
