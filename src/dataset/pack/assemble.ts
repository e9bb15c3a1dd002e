import { CLIP_RATE, HEADER_BYTES, type ReadClip } from "../../audio/index.ts";
import { digestOf, sha256 } from "../../core/hash.ts";
import {
  REFERENCE_BACKENDS,
  type Clip,
  type Dialogue,
  type DialogueKind,
  type ReferenceBackend,
  type RoleEntry,
  type Turn,
} from "../schema.ts";
import type { ClipSource, DialogueSource, Draft } from "../source/source.ts";
import { normalised } from "../text.ts";

/** What turns drafts into rows. */
export interface Assembler {
  readonly source: Pick<DialogueSource, "clip">;
  readonly readClip: ReadClip;
}

/** A draft and whose it is. */
export interface Named {
  readonly role: RoleEntry;
  readonly kind: DialogueKind;
  readonly draft: Draft;
}

export interface Assembled {
  readonly outcome: "dialogue";
  readonly dialogue: Dialogue;
  /** Samples of all clips at 16 kHz. */
  readonly samples: number;
  /** SHA-256 of the samples of every role clip. */
  readonly roleAudio: readonly string[];
}

export interface BadClip {
  readonly outcome: "bad-clip";
  /** `audio_` and the fault, e.g. `audio_truncated`. */
  readonly reason: string;
  readonly turn: number;
  /** Which clip and what is wrong with it. */
  readonly detail: string;
}

const ID_DIGITS = 12;

/**
 * Stable name of a dialogue: role, kind and a hash of its normalised text, never a position, so that it survives
 * reordering and repacking.
 */
export const dialogueId = ({ role, kind, draft }: Named): string => {
  const text = draft.turns.flatMap((turn) => [normalised(turn.userText), normalised(turn.roleText)]);
  return `${role.slug}-${kind}-${sha256(text.join("\u0000")).slice(0, ID_DIGITS)}`;
};

/** SHA-256 of the samples of a stored clip, header left out. */
export const pcmSha256 = (clip: Clip): string => sha256(clip.bytes.subarray(HEADER_BYTES));

/**
 * Digest of everything in a row that a model can learn from: its text and the samples of its clips. SHA-256 of
 * canonical JSON `{role_id, kind, category, system_prompt, context, turns: [{user_text, role_text, user_pcm,
 * role_pcm: {cosyvoice2, f5_tts, e2_tts}}]}`, so that any language can check it.
 */
export const contentSha256 = (dialogue: Omit<Dialogue, "contentSha256">): string =>
  digestOf({
    role_id: dialogue.roleId,
    kind: dialogue.kind,
    category: dialogue.category,
    system_prompt: dialogue.systemPrompt,
    context: dialogue.context,
    turns: dialogue.turns.map((turn) => ({
      user_text: turn.userText,
      role_text: turn.roleText,
      user_pcm: pcmSha256(turn.userAudio),
      role_pcm: Object.fromEntries(
        REFERENCE_BACKENDS.map((backend) => {
          const clip = turn.roleAudio[backend];
          return [backend, clip === null ? null : pcmSha256(clip)];
        }),
      ),
    })),
  });

/** Reads the audio of a draft and makes its row, or says which clip is bad. */
export const assemble = async (named: Named, assembler: Assembler): Promise<Assembled | BadClip> => {
  const id = dialogueId(named);
  const turns: Turn[] = [];
  for (const [index, draft] of named.draft.turns.entries()) {
    const load = async (source: ClipSource, who: string): Promise<Clip | BadClip> =>
      loadClip(source, { turn: index, who, path: `${id}-${index}-${who}.wav` }, assembler);
    const userAudio = await load(draft.user, "user");
    if ("outcome" in userAudio) return userAudio;
    const roleAudio: Record<ReferenceBackend, Clip | null> = { cosyvoice2: null, f5_tts: null, e2_tts: null };
    for (const backend of REFERENCE_BACKENDS) {
      const source = draft.role[backend];
      const clip = source === null ? null : await load(source, backend);
      if (clip !== null && "outcome" in clip) return clip;
      roleAudio[backend] = clip;
    }
    turns.push({ index, userText: draft.userText, userAudio, roleText: draft.roleText, roleAudio });
  }
  return finish(id, named, turns);
};

function finish(id: string, { role, kind, draft }: Named, turns: readonly Turn[]): Assembled {
  const roleClips = turns.flatMap((turn) => REFERENCE_BACKENDS.flatMap((name) => turn.roleAudio[name] ?? []));
  const clips = [...turns.map((turn) => turn.userAudio), ...roleClips];
  const samples = clips.reduce((sum, clip) => sum + (clip.bytes.length - HEADER_BYTES) / 2, 0);
  const dialogue = {
    id,
    roleId: role.slug,
    roleName: role.displayName,
    language: role.language,
    roleSource: role.source,
    kind,
    category: draft.category,
    systemPrompt: draft.systemPrompt,
    context: draft.context,
    // The column holds 32 bits: the same number before writing and after reading.
    audioSeconds: Math.fround(samples / CLIP_RATE),
    turns,
  };
  return {
    outcome: "dialogue",
    dialogue: { ...dialogue, contentSha256: contentSha256(dialogue) },
    samples,
    roleAudio: roleClips.map(pcmSha256),
  };
}

async function loadClip(
  source: ClipSource,
  to: { readonly turn: number; readonly who: string; readonly path: string },
  { source: dialogues, readClip }: Assembler,
): Promise<Clip | BadClip> {
  const name = source.kind === "file" ? source.path : "inline audio";
  const bad = (reason: string, message: string): BadClip => ({
    outcome: "bad-clip",
    reason: `audio_${reason}`,
    turn: to.turn,
    detail: `${to.who} audio ${name}: ${message}`,
  });
  const found = await dialogues.clip(source);
  if (found.outcome === "rejected") return bad(found.reason, found.message);
  const clip = readClip(found.bytes);
  if (clip.outcome === "rejected") return bad(clip.reason, clip.message);
  if (clip.measures.peak === 0) return bad("silent", "the clip is digital silence");
  return { bytes: clip.bytes, path: to.path };
}
