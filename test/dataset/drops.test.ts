import { describe, expect, it } from "vitest";
import { loadSpec, packedFolder } from "../../src/dataset/index.ts";
import { openCrew } from "../../src/dataset/pack/crew.ts";
import { ALL } from "../../src/dataset/pack/share.ts";
import { openSurveyParts } from "../../src/dataset/pack/survey-parts.ts";
import { surveyUnits, type Survey } from "../../src/dataset/pack/survey.ts";
import { openSource } from "../../src/dataset/source/open-source.ts";
import { ascii, data, f32, fmt, riff, s16, sine } from "../audio/build-wav.ts";
import { dialogueAt, projectWith, turnAt, type Corpus } from "./corpus.ts";

const FILE = "train/multi/Thor.json";
const CLIP = "train/multi_speech/Thor/1_1_user.wav";
const ROLE_CLIP = "train/multi_speech/Thor/1_1_role.wav";

// The first pass alone: what is dropped is decided there.
const surveyOf = async (change: (corpus: Corpus) => unknown): Promise<Survey> => {
  const project = await projectWith(change);
  const loaded = await loadSpec(project, "small");
  const source = await openSource(loaded, project);
  const crew = await openCrew({ project, loaded, strict: false }, undefined);
  const parts = openSurveyParts(packedFolder(project, "small"), "0".repeat(64), null);
  const watch = { onDialogues: () => {}, signal: undefined };
  return (await surveyUnits(source.units, { crew, parts, share: ALL, watch })).survey;
};
const turn = (corpus: Corpus): Record<string, unknown> => turnAt(corpus, FILE, { dialogue: 1, turn: 1 });
const samples = s16(sine(440, 16_000, { seconds: 0.1 }));

const cases: readonly (readonly [
  name: string,
  change: (corpus: Corpus) => unknown,
  reason: string,
  detail: string,
  turn: number | null,
])[] = [
  [
    "a clip that is cut off",
    (corpus) => corpus.files.set(CLIP, riff([fmt(), data(samples, { size: 90_000 })])),
    "audio_truncated",
    `user audio ${CLIP}: the audio is cut off: its header says 90000 bytes of samples but only 3200 are there`,
    1,
  ],
  [
    "a Git LFS pointer",
    (corpus) => corpus.files.set(CLIP, "version https://git-lfs.github.com/spec/v1\n"),
    "audio_git_lfs_pointer",
    `user audio ${CLIP}: the file is a Git LFS pointer: the audio itself was not downloaded (run git lfs pull)`,
    1,
  ],
  [
    "an MP3 called WAV",
    (corpus) => corpus.files.set(ROLE_CLIP, ascii("ID3\x04")),
    "audio_not_wav",
    `cosyvoice2 audio ${ROLE_CLIP}: the file is not a WAV file: it looks like an MP3 file (ID3 tag)`,
    1,
  ],
  [
    "an empty file",
    (corpus) => corpus.files.set(CLIP, ""),
    "audio_empty_file",
    `user audio ${CLIP}: the file is empty`,
    1,
  ],
  [
    "no samples",
    (corpus) => corpus.files.set(CLIP, riff([fmt(), data(new Uint8Array())])),
    "audio_no_samples",
    `user audio ${CLIP}: the file has no samples`,
    1,
  ],
  [
    "digital silence",
    (corpus) => corpus.files.set(CLIP, riff([fmt(), data(new Uint8Array(3_200))])),
    "audio_silent",
    `user audio ${CLIP}: the clip is digital silence: all its samples are the same`,
    1,
  ],
  [
    "hiss",
    (corpus) =>
      corpus.files.set(
        ROLE_CLIP,
        riff([fmt(), data(s16(Array.from({ length: 1_600 }, (_, n) => (n % 3) * 10)))]),
      ),
    "audio_silent",
    `cosyvoice2 audio ${ROLE_CLIP}: its loudest sample has -64 dBFS, which is no speech`,
    1,
  ],
  [
    "NaN samples",
    (corpus) => corpus.files.set(CLIP, riff([fmt({ tag: 3, bits: 32 }), data(f32([Number.NaN]))])),
    "audio_not_finite",
    `user audio ${CLIP}: frame 0 is NaN`,
    1,
  ],
  [
    "a rate of 0",
    (corpus) => corpus.files.set(CLIP, riff([fmt({ rate: 0 }), data(samples)])),
    "audio_rate_out_of_bounds",
    `user audio ${CLIP}: the header says 0 Hz, 4000 to 384000 Hz are possible`,
    1,
  ],
  [
    "ADPCM",
    (corpus) => corpus.files.set(CLIP, riff([fmt({ tag: 17, bits: 4 }), data(samples)])),
    "audio_unsupported_encoding",
    `user audio ${CLIP}: the samples are IMA ADPCM, which is not supported: convert to PCM`,
    1,
  ],
  [
    "a clip that is not there",
    (corpus) => corpus.files.delete(CLIP),
    "audio_missing",
    `user audio ${CLIP}: there is no file ${CLIP}`,
    1,
  ],
  [
    "a path out of the corpus",
    (corpus) => (turn(corpus)["user_speech_path"] = "../../etc/x.wav"),
    "audio_path",
    "user audio ../../etc/x.wav: ../../etc/x.wav lies outside the corpus",
    1,
  ],
  [
    "broken base64",
    (corpus) => (turn(corpus)["user_speech_base64"] = "data:audio/wav;base64,AA*A"),
    "audio_base64",
    'user audio inline audio: the base64 audio holds "*" at character 2',
    1,
  ],
  [
    "a question without audio",
    (corpus) => delete turn(corpus)["user_speech_path"],
    "user_audio_missing",
    'no audio for the question "Thor multi question 1.1?"',
    1,
  ],
  [
    "an answer without audio",
    (corpus) => delete turn(corpus)["role_speech_path"],
    "role_audio_missing",
    'no clip speaks the answer "Thor multi answer 1.1."',
    1,
  ],
  ["an empty answer", (corpus) => (turn(corpus)["role"] = " \n"), "text_empty", "the role text is empty", 1],
  [
    "a NUL in a question",
    (corpus) => (turn(corpus)["user"] = "a\0b"),
    "text_invalid",
    "the user text holds a NUL character",
    1,
  ],
  [
    "half a surrogate pair",
    (corpus) => (dialogueAt(corpus, FILE, 1).context = "\ud83d"),
    "text_invalid",
    "context holds half of a surrogate pair",
    null,
  ],
  [
    "an answer that is no text",
    (corpus) => (turn(corpus)["role"] = 5),
    "shape",
    "dialogue[1].role: expected string, not 5",
    1,
  ],
  [
    "a dialogue without turns",
    (corpus) => (dialogueAt(corpus, FILE, 1).dialogue = []),
    "shape",
    "dialogue is empty",
    null,
  ],
  [
    "one turn where several belong",
    (corpus) => dialogueAt(corpus, FILE, 1).dialogue.pop(),
    "turn_count",
    "a multi dialogue of 1 turns",
    null,
  ],
];

describe("a dialogue is left out, counted and listed, for", () => {
  it.each(cases)("%s", async (_, change, ...[reason, detail, turnNumber]) => {
    const { drops, entries } = await surveyOf(change);
    expect(drops).toEqual([
      {
        pool: "train",
        reason,
        role: "Thor",
        dialogue: expect.stringMatching(/^train\/multi\/Thor\.json: /),
        turn: turnNumber,
        detail,
      },
    ]);
    expect(entries).toHaveLength(29);
  });

  it("a repetition of the same text, whatever its case", async () => {
    const { drops } = await surveyOf((corpus) => {
      const [first, second] = [0, 1].map((dialogue) =>
        turnAt(corpus, "train/single/Thor.json", { dialogue, turn: 0 }),
      );
      if (first && second) Object.assign(second, { user: first.user.toUpperCase(), role: first.role });
    });
    expect(drops).toMatchObject([{ reason: "duplicate", role: "Thor", turn: null }]);
  });
});
