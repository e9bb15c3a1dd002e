import { z } from "zod";
import { digestOf } from "../../core/hash.ts";
import { pathText } from "../../core/issues.ts";
import { REFERENCE_BACKENDS, type DatasetSpec, type DialogueKind, type ReferenceBackend } from "../schema.ts";
import { nfc, quote, textFault } from "../text.ts";
import type { ClipSource, Draft, DraftTurn, Unusable, Usable } from "./source.ts";

const optional = z.string().nullish();
const RawTurn = z.looseObject({
  user: z.string(),
  role: z.string(),
  user_speech_path: optional,
  user_speech_base64: optional,
  role_speech_path: optional,
  role_speech_base64: optional,
  role_speech_path1: optional,
  role_speech_path2: optional,
  role_speech_path3: optional,
  role_speech_base641: optional,
  role_speech_base642: optional,
  role_speech_base643: optional,
});
type RawTurn = z.infer<typeof RawTurn>;
const RawDialogue = z.looseObject({
  dialogue: z.array(RawTurn).min(1),
  context: optional,
  system_prompt: optional,
  category: optional,
});

/** The source of a spec in the released layout. */
export type ReleaseSpec = Extract<DatasetSpec["source"], { format: "speechrole-release" }>;

/** What the reading of a dialogue needs to know beside its JSON. */
export interface ReleaseContext {
  readonly kind: DialogueKind;
  /** Text of the role's profile, if there is one. */
  readonly profile: string | null;
  readonly source: Pick<ReleaseSpec, "references" | "trainReference">;
  readonly file: (path: string) => ClipSource;
}

// What the released prompts put between description and script.
const SCRIPT_MARKER = "[Character script]";
const NUMBERS = ["1", "2", "3"] as const;

/** One element of a released role file as a draft, or why it cannot be used. */
export const readReleased = (raw: unknown, context: ReleaseContext): Usable | Unusable => {
  const read = readShape(raw, context);
  return "reason" in read ? { outcome: "unusable", label: digestOf(raw).slice(0, 12), ...read } : read;
};

type Problem = Pick<Unusable, "reason" | "turn" | "detail">;

function readShape(raw: unknown, context: ReleaseContext): Usable | Problem {
  const parsed = RawDialogue.safeParse(raw);
  if (!parsed.success) return shapeProblem(parsed.error);
  const { dialogue } = parsed.data;
  if (context.kind === "single" ? dialogue.length !== 1 : dialogue.length < 2)
    return {
      reason: "turn_count",
      turn: null,
      detail: `a ${context.kind} dialogue of ${dialogue.length} turns`,
    };
  const problem = textProblem(parsed.data);
  if (problem) return problem;
  const turns: DraftTurn[] = [];
  for (const [index, turn] of dialogue.entries()) {
    const read = readTurn(turn, index, context);
    if ("reason" in read) return read;
    turns.push(read);
  }
  return { outcome: "dialogue", draft: draftOf(parsed.data, context, turns) };
}

function shapeProblem(error: z.ZodError): Problem {
  const [issue] = error.issues;
  const path = issue?.path ?? [];
  const turn = path[0] === "dialogue" && typeof path[1] === "number" ? path[1] : null;
  return { reason: "shape", turn, detail: `${pathText(path)}: ${issue?.message ?? "not a dialogue"}` };
}

function textProblem(raw: z.infer<typeof RawDialogue>): Problem | undefined {
  for (const key of ["context", "system_prompt", "category"] as const) {
    const fault = textFault(raw[key] ?? "");
    if (fault !== undefined && fault !== "is empty")
      return { reason: "text_invalid", turn: null, detail: `${key} ${fault}` };
  }
  return undefined;
}

function readTurn(raw: RawTurn, turn: number, context: ReleaseContext): DraftTurn | Problem {
  for (const who of ["user", "role"] as const) {
    const fault = textFault(raw[who]);
    if (fault !== undefined)
      return {
        reason: fault === "is empty" ? "text_empty" : "text_invalid",
        turn,
        detail: `the ${who} text ${fault}`,
      };
  }
  const user = clipOf(context, raw.user_speech_base64, raw.user_speech_path);
  if (!user)
    return { reason: "user_audio_missing", turn, detail: `no audio for the question ${quote(raw.user)}` };
  return { userText: nfc(raw.user), roleText: nfc(raw.role), user, role: references(context, raw) };
}

function draftOf(
  raw: z.infer<typeof RawDialogue>,
  context: ReleaseContext,
  turns: readonly DraftTurn[],
): Draft {
  const script = textOrNull(raw.context);
  const given = textOrNull(raw.system_prompt);
  return {
    category: textOrNull(raw.category),
    context: script,
    systemPrompt: given ?? promptFromProfile(context.profile, script),
    promptFromProfile: given === null && context.profile !== null,
    turns,
  };
}

function textOrNull(text: string | null | undefined): string | null {
  return text === null || text === undefined || text.trim() === "" ? null : nfc(text);
}

// As the released prompts are built; without a script the profile alone says who the role is.
function promptFromProfile(profile: string | null, script: string | null): string | null {
  if (profile === null || script === null) return profile;
  return `${profile}\n${SCRIPT_MARKER}\n${script}`;
}

// Numbered references name their backend through the spec; an unnumbered one is the training reference.
function references(context: ReleaseContext, turn: RawTurn): Record<ReferenceBackend, ClipSource | null> {
  const clips: Record<ReferenceBackend, ClipSource | null> = { cosyvoice2: null, f5_tts: null, e2_tts: null };
  for (const number of NUMBERS)
    clips[context.source.references[number]] = clipOf(
      context,
      turn[`role_speech_base64${number}`],
      turn[`role_speech_path${number}`],
    );
  if (REFERENCE_BACKENDS.every((backend) => clips[backend] === null))
    clips[context.source.trainReference] = clipOf(context, turn.role_speech_base64, turn.role_speech_path);
  return clips;
}

// Inline audio wins: files that carry both were written on another machine, whose paths are gone.
function clipOf(
  context: ReleaseContext,
  data: string | null | undefined,
  path: string | null | undefined,
): ClipSource | null {
  if (data) return { kind: "inline", data };
  return path ? context.file(path) : null;
}
