import { z } from "zod";
import { UserError } from "../../core/errors.ts";
import { prettyIssues } from "../../core/issues.ts";
import {
  DialogueKind,
  Language,
  REFERENCE_BACKENDS,
  type Clip,
  type Dialogue,
  type ReferenceBackend,
} from "../schema.ts";
import { audioColumn } from "./columns.ts";

/** A row without its audio. */
export type DialogueText = Omit<Dialogue, "turns"> & {
  readonly turns: readonly { readonly index: number; readonly userText: string; readonly roleText: string }[];
};

const RawClip = z.object({ bytes: z.instanceof(Uint8Array), path: z.string() });
// A null struct inside a list comes back as an absent key.
const RawClipOrNull = RawClip.nullish().transform((clip) => clip ?? null);
const TextTurn = z.object({ index: z.int(), user_text: z.string(), role_text: z.string() });
const AudioTurn = TextTurn.extend({
  user_audio: RawClip,
  role_audio_cosyvoice2: RawClipOrNull,
  role_audio_f5_tts: RawClipOrNull,
  role_audio_e2_tts: RawClipOrNull,
});
const Columns = z.object({
  id: z.string(),
  role_id: z.string(),
  role_name: z.string(),
  language: Language,
  role_source: z.string(),
  kind: DialogueKind,
  category: z.string().nullable(),
  system_prompt: z.string().nullable(),
  context: z.string().nullable(),
  audio_seconds: z.number(),
  content_sha256: z.string(),
});
const TextRow = Columns.extend({ turns: z.array(TextTurn) });
const AudioRow = Columns.extend({ turns: z.array(AudioTurn) });

/** A stored row as a dialogue; `place` names it in the UserError `SHARD_UNREADABLE`. */
export const toDialogue = (row: unknown, place: string): Dialogue => {
  const raw = parse(AudioRow, row, place);
  const turns = raw.turns.map((turn) => {
    const roleAudio: Record<ReferenceBackend, Clip | null> = { cosyvoice2: null, f5_tts: null, e2_tts: null };
    for (const backend of REFERENCE_BACKENDS) roleAudio[backend] = turn[audioColumn(backend)];
    return { ...textOf(turn), userAudio: turn.user_audio, roleAudio };
  });
  return { ...columnsOf(raw), turns };
};

/** A stored row without audio. */
export const toText = (row: unknown, place: string): DialogueText => {
  const raw = parse(TextRow, row, place);
  return { ...columnsOf(raw), turns: raw.turns.map(textOf) };
};

function textOf(turn: z.infer<typeof TextTurn>): DialogueText["turns"][number] {
  return { index: turn.index, userText: turn.user_text, roleText: turn.role_text };
}

function columnsOf(raw: z.infer<typeof Columns>): Omit<Dialogue, "turns"> {
  return {
    id: raw.id,
    roleId: raw.role_id,
    roleName: raw.role_name,
    language: raw.language,
    roleSource: raw.role_source,
    kind: raw.kind,
    category: raw.category,
    systemPrompt: raw.system_prompt,
    context: raw.context,
    audioSeconds: raw.audio_seconds,
    contentSha256: raw.content_sha256,
  };
}

function parse<Schema extends z.ZodType>(schema: Schema, row: unknown, place: string): z.output<Schema> {
  const parsed = schema.safeParse(row);
  if (parsed.success) return parsed.data;
  throw new UserError("SHARD_UNREADABLE", `${place} is not a dialogue:\n${prettyIssues(parsed.error)}`);
}
