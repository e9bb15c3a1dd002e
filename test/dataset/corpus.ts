import { mkdir, mkdtemp, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { onTestFinished } from "vitest";
import { projectAt, type Project } from "../../src/core/project.ts";
import { data, fmt, riff, s16, sine } from "../audio/build-wav.ts";
import { removeFolder } from "../support/remove-folder.ts";

/** A clip that no other number gives: a short tone at this many hertz above 200. */
export const toneClip = (number: number, rate = 16_000): Uint8Array =>
  riff([fmt({ rate }), data(s16(sine(200 + number * 3, rate, { seconds: 0.05 })))]);

export interface RawTurn {
  user: string;
  role: string;
  [key: string]: unknown;
}
export interface RawDialogue {
  dialogue: RawTurn[];
  context?: string | null;
  system_prompt?: string | null;
  category?: string | null;
}
export interface RawRole {
  stem: string;
  slug: string;
  displayName: string;
  language: "en" | "zh";
  source: string;
  heldOut: boolean;
}

/** A corpus in memory: JSON by file, other files as bytes or text. Change it, then `write` it. */
export interface Corpus {
  roles: RawRole[];
  dialogues: Map<string, RawDialogue[]>;
  files: Map<string, Uint8Array | string>;
  spec: Record<string, unknown>;
}

const ROLES: readonly RawRole[] = [
  { stem: "Thor", slug: "thor", displayName: "Thor", language: "en", source: "RoleLLM", heldOut: false },
  {
    stem: "Prof. G.H. Dorr",
    slug: "prof_dorr",
    displayName: "Professor Dorr",
    language: "en",
    source: "RoleLLM",
    heldOut: false,
  },
  { stem: "hutao", slug: "hutao", displayName: "胡桃", language: "zh", source: "ChatHaruhi", heldOut: true },
];

/** Three roles, one held out; 4 single and 2 multi training dialogues and 2 + 2 test sessions each, 60 in all clips distinct. */
export const makeCorpus = (): Corpus => {
  const corpus: Corpus = {
    roles: ROLES.map((role) => ({ ...role })),
    dialogues: new Map(),
    files: new Map(),
    spec: {
      schemaVersion: 1,
      name: "small",
      description: "for tests",
      licence: "CC0-1.0",
      source: {
        format: "speechrole-release",
        path: "small",
        revision: "1",
        roles: "roles.json",
        references: { "1": "cosyvoice2", "2": "f5_tts", "3": "e2_tts" },
        trainReference: "cosyvoice2",
      },
      splits: { by: "spec", seed: 7, heldOutRoles: ["hutao"], devPerRole: 1 },
      // The clips are short tones, and all roles speak English.
      checks: { charactersPerSecond: { en: [0, 10_000], zh: [0, 10_000] }, wrongLanguage: "keep" },
      expected: { roles: 3, heldOutRoles: 1, testSessions: 12 },
    },
  };
  let number = 0;
  const clip = (path: string): string => {
    corpus.files.set(path, toneClip(number++));
    return path;
  };
  for (const { stem } of ROLES) {
    corpus.files.set(
      `role_metadata/role_profiles/${stem}_profile.txt`,
      `I want you to act like ${stem} from Tests.\n`,
    );
    corpus.files.set(`role_metadata/role_voices/${stem}.wav`, toneClip(number++));
    for (const kind of ["single", "multi"] as const) {
      const turns = kind === "single" ? 1 : 2;
      const train = Array.from({ length: kind === "single" ? 4 : 2 }, (_, index): RawDialogue => ({
        dialogue: Array.from({ length: turns }, (_turn, turn) => ({
          user: `${stem} ${kind} question ${index}.${turn}?`,
          role: `${stem} ${kind} answer ${index}.${turn}.`,
          user_speech_path: clip(`train/${kind}_speech/${stem}/${index}_${turn}_user.wav`),
          role_speech_path: clip(`train/${kind}_speech/${stem}/${index}_${turn}_role.wav`),
        })),
        ...(index === 0
          ? {}
          : { context: `scene ${index}`, system_prompt: `You are ${stem}. 你好 scene ${index}` }),
      }));
      const test = Array.from({ length: 2 }, (_, index): RawDialogue => ({
        dialogue: Array.from({ length: turns }, (_turn, turn) => {
          const base = `test_data/${kind}_turn_speech/${stem}/${index + 1}_${stem}_0_${turn}`;
          return {
            user: `${stem} ${kind} test question ${index}.${turn}?`,
            role: `${stem} ${kind} test answer ${index}.${turn}.`,
            user_speech_path: clip(`${base}_user.wav`),
            role_speech_path1: clip(`${base}_role1.wav`),
            role_speech_path2: clip(`${base}_role2.wav`),
            role_speech_path3: clip(`${base}_role3.wav`),
          };
        }),
        context: `test scene ${index}`,
        system_prompt: `You are ${stem}.`,
        category: index === 0 ? "Skills and Abilities" : null,
      }));
      corpus.dialogues.set(`train/${kind}/${stem}.json`, train);
      corpus.dialogues.set(`test_data/${kind}_turn/${stem}.json`, test);
    }
  }
  return corpus;
};

/** The dialogue at a place, for changing it. */
export const dialogueAt = (corpus: Corpus, file: string, index: number): RawDialogue => {
  const found = corpus.dialogues.get(file)?.[index];
  if (!found) throw new Error(`no dialogue ${index} in ${file}`);
  return found;
};

/** A turn at a place, for changing it. */
export const turnAt = (corpus: Corpus, file: string, place: { dialogue: number; turn: number }): RawTurn => {
  const found = dialogueAt(corpus, file, place.dialogue).dialogue[place.turn];
  if (!found) throw new Error(`no turn ${place.turn} in ${file}`);
  return found;
};

/** An empty project in a temporary folder that goes away with the test. */
export const makeProject = async (): Promise<Project> => {
  const root = await mkdtemp(join(tmpdir(), "understudy-dataset-"));
  onTestFinished(() => removeFolder(root));
  for (const noun of ["recipes", "launchers", "datasets", "checkpoints"])
    await mkdir(join(root, noun), { recursive: true });
  return projectAt(root);
};

/** Writes the corpus as datasets/small of the project, with its spec (YAML is a superset of JSON). */
export const writeCorpus = async (project: Project, corpus: Corpus): Promise<void> => {
  const folder = join(project.datasets, "small");
  const write = async (path: string, content: string | Uint8Array): Promise<void> => {
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, content);
  };
  await write(join(project.datasets, "small.yaml"), JSON.stringify(corpus.spec));
  await write(join(folder, "roles.json"), JSON.stringify(corpus.roles));
  for (const [path, dialogues] of corpus.dialogues)
    await write(join(folder, path), JSON.stringify(dialogues, null, 2));
  for (const [path, content] of corpus.files) await write(join(folder, path), content);
};

/** A project that holds the corpus, after `change`. */
export const projectWith = async (change: (corpus: Corpus) => unknown = () => {}): Promise<Project> => {
  const project = await makeProject();
  const corpus = makeCorpus();
  change(corpus);
  await writeCorpus(project, corpus);
  return project;
};
