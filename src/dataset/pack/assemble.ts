import { CLIP_RATE, type ReadClip, type ReadyClip } from "../../audio/index.ts";
import { sha256 } from "../../core/hash.ts";
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
import { normalised, shortened } from "../text.ts";
import { shortDigest } from "./entry.ts";

/** What turns drafts into rows. */
export interface Assembler {
  readonly source: Pick<DialogueSource, "clip" | "scripts">;
  readonly readClip: (bytes: Uint8Array) => ReturnType<ReadClip> | Promise<ReturnType<ReadClip>>;
}

/** A draft and whose it is. */
export interface Named {
  readonly role: RoleEntry;
  readonly kind: DialogueKind;
  readonly draft: Draft;
}

/** The clips of a turn as they were read. */
export interface TurnClips {
  readonly user: ReadyClip;
  readonly role: Readonly<Record<ReferenceBackend, ReadyClip | null>>;
}

export interface Assembled {
  readonly outcome: "dialogue";
  readonly dialogue: Omit<Dialogue, "contentSha256">;
  /** Per turn. */
  readonly clips: readonly TurnClips[];
  /** Of the clips whose file has one. */
  readonly stamps: ReadonlyMap<ReadyClip, string>;
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

/** Reads the audio of a draft and makes its row, or says which clip is bad. */
export const assemble = async (named: Named, assembler: Assembler): Promise<Assembled | BadClip> => {
  const id = dialogueId(named);
  const clips: TurnClips[] = [];
  const stamps = new Map<ReadyClip, string>();
  for (const [index, draft] of named.draft.turns.entries()) {
    const load = async (source: ClipSource, who: string): Promise<ReadyClip | BadClip> => {
      const loaded = await loadClip(source, { turn: index, who }, assembler);
      if (loaded.outcome === "bad-clip") return loaded;
      if (loaded.stamp !== undefined) stamps.set(loaded.clip, loaded.stamp);
      return loaded.clip;
    };
    const user = await load(draft.user, "user");
    if (user.outcome === "bad-clip") return user;
    const role: Record<ReferenceBackend, ReadyClip | null> = { cosyvoice2: null, f5_tts: null, e2_tts: null };
    for (const backend of REFERENCE_BACKENDS) {
      const source = draft.role[backend];
      const clip = source === null ? null : await load(source, backend);
      if (clip?.outcome === "bad-clip") return clip;
      role[backend] = clip;
    }
    clips.push({ user, role });
  }
  return { outcome: "dialogue", dialogue: rowOf(id, named, clips), clips, stamps };
};

/** Every clip of a turn that there is, the user's first. */
export const clipsOf = ({ user, role }: TurnClips): readonly ReadyClip[] => [
  user,
  ...REFERENCE_BACKENDS.flatMap((backend) => role[backend] ?? []),
];

function rowOf(id: string, { role, kind, draft }: Named, clips: readonly TurnClips[]): Assembled["dialogue"] {
  const samples = clips.flatMap(clipsOf).reduce((sum, clip) => sum + clip.samples, 0);
  return {
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
    turns: draft.turns.flatMap((turn, index) => {
      const read = clips[index];
      return read ? [turnOf(id, index, { ...turn, read })] : [];
    }),
  };
}

function turnOf(
  id: string,
  index: number,
  {
    userText,
    roleText,
    read,
  }: { readonly userText: string; readonly roleText: string; readonly read: TurnClips },
): Turn {
  const clip = (ready: ReadyClip, who: string): Clip => ({
    bytes: ready.bytes,
    path: `${id}-${index}-${who}.${ready.codec}`,
  });
  const roleAudio: Record<ReferenceBackend, Clip | null> = { cosyvoice2: null, f5_tts: null, e2_tts: null };
  for (const backend of REFERENCE_BACKENDS) {
    const ready = read.role[backend];
    roleAudio[backend] = ready && clip(ready, backend);
  }
  return { index, userText, userAudio: clip(read.user, "user"), roleText, roleAudio };
}

/**
 * Digest of everything in a row that a model can learn from: its text and the samples of its clips, whatever their
 * codec. SHA-256 of canonical JSON `{role_id, kind, category, system_prompt, context, turns: [{user_text, role_text,
 * user_pcm, role_pcm: {cosyvoice2, f5_tts, e2_tts}}]}`, so that any language can check it.
 */
export const contentSha256 = (assembled: Assembled): string =>
  sha256(JSON.stringify(learnable(assembled, ({ pcmSha256 }) => pcmSha256)));

/**
 * Tells without a look at the samples that a dialogue is what it was a moment ago: the same digest with the stamp of each file
 * in place of its samples. Null where a clip has no stamp.
 */
export const fingerprint = (assembled: Assembled): string | null => {
  const { clips, stamps } = assembled;
  if (!clips.flatMap(clipsOf).every((clip) => stamps.has(clip))) return null;
  return shortDigest(sha256(JSON.stringify(learnable(assembled, (clip) => stamps.get(clip) ?? null))));
};

// Canonical JSON has its keys sorted; these stand so already, which takes half the time of sorting them for each dialogue.
function learnable({ dialogue, clips }: Assembled, nameOf: (clip: ReadyClip) => string | null): object {
  const named = (clip: ReadyClip | null | undefined): string | null => (clip ? nameOf(clip) : null);
  return {
    category: dialogue.category,
    context: dialogue.context,
    kind: dialogue.kind,
    role_id: dialogue.roleId,
    system_prompt: dialogue.systemPrompt,
    turns: dialogue.turns.map((turn, index) => {
      const { user, role } = clips[index] ?? {};
      return {
        role_pcm: {
          cosyvoice2: named(role?.cosyvoice2),
          e2_tts: named(role?.e2_tts),
          f5_tts: named(role?.f5_tts),
        },
        role_text: turn.roleText,
        user_pcm: named(user),
        user_text: turn.userText,
      };
    }),
  };
}

/** What is wrong with a clip, by the name that its source gives it. */
export const badClip = (
  source: ClipSource,
  { turn, who }: { readonly turn: number; readonly who: string },
  { reason, message }: { readonly reason: string; readonly message: string },
): BadClip => ({
  outcome: "bad-clip",
  reason: `audio_${reason}`,
  turn,
  detail: `${who} audio ${source.kind === "file" ? shortened(source.path) : "inline audio"}: ${message}`,
});

interface Loaded {
  readonly outcome: "loaded";
  readonly clip: ReadyClip;
  readonly stamp: string | undefined;
}

async function loadClip(
  source: ClipSource,
  to: { readonly turn: number; readonly who: string },
  { source: dialogues, readClip }: Assembler,
): Promise<Loaded | BadClip> {
  const bad = (reason: string, message: string): BadClip => badClip(source, to, { reason, message });
  const found = await dialogues.clip(source);
  if (found.outcome === "rejected") return bad(found.reason, found.message);
  const clip = await readClip(found.bytes);
  if (clip.outcome === "rejected") return bad(clip.reason, clip.message);
  if (clip.isSilent) return bad("silent", "the clip is digital silence: all its samples are the same");
  return { outcome: "loaded", clip, stamp: found.stamp };
}
