import { z } from "zod";
import { Language, type DialogueKind, type ReferenceBackend } from "./vocabulary.ts";

/** One entry of the role manifest; stem and slug are bijective. */
export const RoleEntry = z.strictObject({
  stem: z.string().min(1),
  slug: z.string().regex(/^[a-z0-9_]+$/),
  displayName: z.string().min(1),
  language: Language,
  source: z.string(),
  heldOut: z.boolean(),
});
export type RoleEntry = z.infer<typeof RoleEntry>;

/** A clip in the one stored form: RIFF, 16 kHz, mono, s16, 44-byte header. */
export interface Clip {
  readonly bytes: Uint8Array;
  /** Short file name ending in .wav. */
  readonly path: string;
}

export interface Turn {
  readonly index: number;
  readonly userText: string;
  readonly userAudio: Clip;
  readonly roleText: string;
  /** A missing backend is null. */
  readonly roleAudio: Readonly<Record<ReferenceBackend, Clip | null>>;
}

/** One row of a shard: one dialogue. */
export interface Dialogue {
  readonly id: string;
  readonly roleId: string;
  readonly roleName: string;
  readonly language: Language;
  readonly roleSource: string;
  readonly kind: DialogueKind;
  readonly category: string | null;
  readonly systemPrompt: string | null;
  readonly context: string | null;
  readonly audioSeconds: number;
  readonly turns: readonly Turn[];
  readonly contentSha256: string;
}
