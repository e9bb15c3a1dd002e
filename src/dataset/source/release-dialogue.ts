import { z } from "zod";
import { REFERENCE_BACKENDS, type DatasetSpec, type DialogueKind, type ReferenceBackend } from "../schema.ts";
import { draftOf, type PlainTurn, type Problem } from "./draft.ts";
import { labelOf } from "./label.ts";
import { shapeProblem } from "./shape-problem.ts";
import type { ClipSource, Draft, Unusable, Usable } from "./source.ts";

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
export type RawTurn = z.infer<typeof RawTurn>;

/** A dialogue of a released role file, as far as its shape goes; other keys are allowed. */
export const RawDialogue = z.looseObject({
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
}

const NUMBERS = ["1", "2", "3"] as const;

/** One element of a released role file as a draft, or why it cannot be used. */
export const readReleased = (raw: unknown, context: ReleaseContext): Usable | Unusable => {
  const read = readShape(raw, context);
  const label = labelOf(raw);
  return "reason" in read
    ? { outcome: "unusable", label, ...read }
    : { outcome: "dialogue", label, draft: read };
};

function readShape(raw: unknown, { kind, profile, source }: ReleaseContext): Draft | Problem {
  const parsed = RawDialogue.safeParse(raw);
  if (!parsed.success) return shapeProblem(parsed.error, raw, "dialogue");
  const { dialogue, context, system_prompt, category } = parsed.data;
  const turns = dialogue.map((turn): PlainTurn => ({
    userText: turn.user,
    roleText: turn.role,
    user: clipOf(turn.user_speech_base64, turn.user_speech_path),
    role: references(source, turn),
  }));
  return draftOf({ kind, category, context, systemPrompt: system_prompt, turns }, profile);
}

// Numbered references name their backend through the spec; an unnumbered one is the training reference.
function references(
  source: ReleaseContext["source"],
  turn: RawTurn,
): Record<ReferenceBackend, ClipSource | null> {
  const clips: Record<ReferenceBackend, ClipSource | null> = { cosyvoice2: null, f5_tts: null, e2_tts: null };
  for (const number of NUMBERS)
    clips[source.references[number]] = clipOf(
      turn[`role_speech_base64${number}`],
      turn[`role_speech_path${number}`],
    );
  if (REFERENCE_BACKENDS.every((backend) => clips[backend] === null))
    clips[source.trainReference] = clipOf(turn.role_speech_base64, turn.role_speech_path);
  return clips;
}

// Inline audio wins: files that carry both were written on another machine, whose paths are gone.
function clipOf(data: string | null | undefined, path: string | null | undefined): ClipSource | null {
  if (data) return { kind: "inline", data };
  return path ? { kind: "file", path } : null;
}
