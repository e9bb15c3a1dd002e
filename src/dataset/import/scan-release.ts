import { join } from "node:path";
import { ByteFault, jsonError } from "../json/bytes.ts";
import { arrayElements } from "../json/elements.ts";
import { findDialogueFiles, type DialogueFile } from "../source/release-files.ts";
import { RawDialogue, type RawTurn } from "../source/release-dialogue.ts";
import { readOrRefuse } from "../source/release.ts";
import { metadataFile, profileText } from "../source/role-files.ts";
import { profileName } from "../source/profile-name.ts";
import { parseFileBytes } from "../source/roles.ts";
import type { Unusable } from "../source/source.ts";
import { z } from "zod";
import { shapeProblem } from "../source/shape-problem.ts";
import { clipName } from "./clip-name.ts";
import { DefectList, roleDefects, transcriptDefects } from "./defects.ts";
import { UNSPOKEN } from "./record-defects.ts";
import { learnLanguage, RoleTable, type RoleFacts } from "./role-facts.ts";
import { LEFT_OUT } from "./scan-records.ts";
import type { Scan, ScanOptions } from "./scan.ts";
import { isSpeechRole } from "./speechrole.ts";

/**
 * Reads a corpus in the released layout from end to end, without its audio, and says what is in it. What an answer's
 * reference is called tells the generation: one file (the first) or three numbered ones (the second).
 */
export const scanRelease = async (folder: string, options: ScanOptions): Promise<Scan> => {
  const { files } = await findDialogueFiles(folder);
  const roles = new RoleTable();
  const defects = new DefectList();
  const forms = new Map<string, number>();
  const voiced = { questions: 0 };
  let unusable = 0;
  const refuse = (detail: string, { file }: DialogueFile, index: number): void => {
    unusable++;
    defects.add(
      { code: "of_no_use", role: null, detail: LEFT_OUT },
      `${file} dialogue ${index + 1}: ${detail}`,
    );
  };
  for (const file of files) {
    const world: World = { facts: roles.of(file.stem), defects, forms, voiced };
    for await (const raw of elements(folder, file, options)) {
      const { index, content } = raw;
      if (!("value" in content)) {
        refuse(content.detail, file, index);
        continue;
      }
      const parsed = RawDialogue.safeParse(content.value);
      if (parsed.success) learn(parsed.data, { file, index }, world);
      else refuse(shapeProblem(parsed.error, content.value, "dialogue").detail, file, index);
    }
    options.onProgress?.(file.file);
  }
  for (const facts of roles.all()) await describe(folder, facts, defects);
  await transcripts(folder, defects);
  const stems = roles.all().map(({ stem }) => stem);
  return {
    format: "speechrole-release",
    roles: roles.all(),
    turnsAreKnown: true,
    files: [],
    forms,
    unusable,
    isSilent: forms.size > 0 && voiced.questions === 0,
    defects: defects.all(),
    isSpeechRole: isSpeechRole(stems),
  };
};

interface World {
  readonly facts: RoleFacts;
  readonly defects: DefectList;
  readonly forms: Map<string, number>;
  /** Questions that have audio. */
  readonly voiced: { questions: number };
}

async function* elements(
  folder: string,
  { file }: DialogueFile,
  { signal }: ScanOptions,
): AsyncGenerator<{ readonly index: number; readonly content: { readonly value: unknown } | Unusable }> {
  const path = join(folder, file);
  try {
    for await (const { index, start, bytes } of arrayElements(path, signal)) {
      yield { index, content: readOrRefuse(bytes, start, (value) => ({ value })) };
    }
  } catch (error) {
    throw error instanceof ByteFault ? await jsonError(path, error) : error;
  }
}

interface At {
  readonly file: DialogueFile;
  readonly index: number;
}

function learn({ dialogue }: z.infer<typeof RawDialogue>, at: At, world: World): void {
  const { facts } = world;
  facts.dialogues[at.file.pool][at.file.kind]++;
  facts.turns += dialogue.length;
  for (const [turn, raw] of dialogue.entries()) {
    learnLanguage(facts, raw.role);
    const form = formOf(raw, at.file.pool);
    world.forms.set(form, (world.forms.get(form) ?? 0) + 1);
    turnDefects(raw, { ...at, turn }, world);
  }
}

const NO_REFERENCE = "no reference";
const NUMBERED = ["role_speech_path1", "role_speech_path2", "role_speech_path3"] as const;
const INLINE = [
  "role_speech_base64",
  "role_speech_base641",
  "role_speech_base642",
  "role_speech_base643",
] as const;

// Training answers have one reference in every generation: only the test tells which it is.
function formOf(turn: RawTurn, pool: DialogueFile["pool"]): string {
  if (NUMBERED.some((key) => turn[key])) return "three references in files (generation 2)";
  if (INLINE.some((key) => turn[key])) return "audio inline";
  if (!turn.role_speech_path) return NO_REFERENCE;
  return pool === "test" ? "one reference in files (generation 1)" : "one reference in files";
}

function turnDefects(
  raw: RawTurn,
  { file, index, turn }: At & { readonly turn: number },
  world: World,
): void {
  const { facts, defects } = world;
  const place = `${file.file} dialogue ${index + 1}, turn ${turn + 1}`;
  const note = (code: string, detail: string, where = place): void =>
    defects.add({ code, role: facts.stem, detail }, where);
  if (raw.user_speech_base64 || raw.user_speech_path) world.voiced.questions++;
  else note("user_audio_missing", "questions without audio");
  if (formOf(raw, file.pool) === NO_REFERENCE) note("role_audio_missing", UNSPOKEN);
  if (/^\s/.test(raw.user))
    note("asr_text", "questions that begin with a space, as speech recognition writes them");
  const paths = [raw.user_speech_path, raw.role_speech_path, ...NUMBERED.map((key) => raw[key])];
  for (const path of paths) {
    const name = path ? clipName(path, facts.stem) : undefined;
    if (!name) continue;
    const isOther = name.turn !== turn || (name.dialogue !== undefined && name.dialogue !== index);
    if (isOther)
      note(
        "clip_name_differs",
        "clips called after another place than the one they stand at; the place counts",
        `${place}: ${path}`,
      );
  }
}

async function describe(folder: string, facts: RoleFacts, defects: DefectList): Promise<void> {
  const bytes = await metadataFile(folder, `role_profiles/${facts.stem}_profile.txt`);
  const profile = bytes && profileText(bytes);
  const said = profile === null ? undefined : profileName(profile);
  facts.displayName = said?.name;
  facts.source = said?.source;
  roleDefects(defects, facts, profile);
}

async function transcripts(folder: string, defects: DefectList): Promise<void> {
  const path = "role_voices/audios_text.json";
  const bytes = await metadataFile(folder, path);
  if (!bytes) return;
  const parsed = z.record(z.string(), z.string()).safeParse(await parseFileBytes(bytes, join(folder, path)));
  for (const [role, transcript] of Object.entries(parsed.data ?? {}))
    transcriptDefects(defects, role, transcript);
}
