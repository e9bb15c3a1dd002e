import type { DialogueKind, ReferenceBackend } from "../schema.ts";
import { nfc, quote, textFault } from "../text.ts";
import type { ClipSource, Draft, DraftTurn, Unusable } from "./source.ts";

/** A turn as any layout gives it, before anything of it is checked. */
export interface PlainTurn {
  readonly userText: string;
  readonly roleText: string;
  readonly user: ClipSource | null;
  readonly role: Readonly<Record<ReferenceBackend, ClipSource | null>>;
}

/** A dialogue as any layout gives it. */
export interface PlainDialogue {
  readonly kind: DialogueKind;
  readonly category: string | null | undefined;
  readonly context: string | null | undefined;
  readonly systemPrompt: string | null | undefined;
  readonly turns: readonly PlainTurn[];
}

/** Why a dialogue cannot be used. */
export type Problem = Pick<Unusable, "reason" | "turn" | "detail">;

// What the released prompts put between description and script.
const SCRIPT_MARKER = "[Character script]";

/** Checks the texts and the turns, and makes the prompt from the role's profile where the source has none. */
export const draftOf = (plain: PlainDialogue, profile: string | null): Draft | Problem => {
  const { kind, turns: given } = plain;
  if (kind === "single" ? given.length !== 1 : given.length < 2)
    return { reason: "turn_count", turn: null, detail: `a ${kind} dialogue of ${given.length} turns` };
  const problem = textProblem(plain);
  if (problem) return problem;
  const turns: DraftTurn[] = [];
  for (const [index, turn] of given.entries()) {
    const read = checkedTurn(turn, index);
    if ("reason" in read) return read;
    turns.push(read);
  }
  const script = textOrNull(plain.context);
  const prompt = textOrNull(plain.systemPrompt);
  return {
    category: textOrNull(plain.category),
    context: script,
    systemPrompt: prompt ?? promptFromProfile(profile, script),
    promptFromProfile: prompt === null && profile !== null,
    turns,
  };
};

function textProblem({ context, systemPrompt, category }: PlainDialogue): Problem | undefined {
  for (const [key, text] of Object.entries({ context, system_prompt: systemPrompt, category })) {
    const fault = textFault(text ?? "");
    if (fault !== undefined && fault !== "is empty")
      return { reason: "text_invalid", turn: null, detail: `${key} ${fault}` };
  }
  return undefined;
}

function checkedTurn({ userText, roleText, user, role }: PlainTurn, turn: number): DraftTurn | Problem {
  for (const [who, text] of Object.entries({ user: userText, role: roleText })) {
    const fault = textFault(text);
    if (fault !== undefined)
      return {
        reason: fault === "is empty" ? "text_empty" : "text_invalid",
        turn,
        detail: `the ${who} text ${fault}`,
      };
  }
  if (!user)
    return { reason: "user_audio_missing", turn, detail: `no audio for the question ${quote(userText)}` };
  return { userText: nfc(userText), roleText: nfc(roleText), user, role };
}

function textOrNull(text: string | null | undefined): string | null {
  return text === null || text === undefined || text.trim() === "" ? null : nfc(text);
}

// As the released prompts are built; without a script the profile alone says who the role is.
function promptFromProfile(profile: string | null, script: string | null): string | null {
  if (profile === null || script === null) return profile;
  return `${profile}\n${SCRIPT_MARKER}\n${script}`;
}
