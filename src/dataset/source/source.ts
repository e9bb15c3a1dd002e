import type { DialogueKind, ReferenceBackend, RoleEntry } from "../schema.ts";
import type { Place } from "./place.ts";

/** A clip before it is read: a file, named as the source names it, audio inside the JSON, or the bytes of a column. */
export type ClipSource =
  | { readonly kind: "file"; readonly path: string }
  | { readonly kind: "inline"; readonly data: string }
  | { readonly kind: "bytes"; readonly bytes: Uint8Array };

export interface DraftTurn {
  readonly userText: string;
  readonly roleText: string;
  readonly user: ClipSource;
  readonly role: Readonly<Record<ReferenceBackend, ClipSource | null>>;
}

/** A dialogue whose text is checked and whose audio is not yet read. All text is NFC. */
export interface Draft {
  readonly category: string | null;
  readonly context: string | null;
  readonly systemPrompt: string | null;
  /** The source had no system prompt: it was built from the role's profile. */
  readonly promptFromProfile: boolean;
  readonly turns: readonly DraftTurn[];
}

export interface Unusable {
  readonly outcome: "unusable";
  /** Stable word. */
  readonly reason: string;
  readonly turn: number | null;
  readonly detail: string;
  readonly label: string;
}

export interface Usable {
  readonly outcome: "dialogue";
  readonly draft: Draft;
  /** Names the dialogue for a person who looks for it, without its position: `labelOf`. */
  readonly label: string;
}

/** One dialogue of a source. */
export interface Found {
  readonly role: RoleEntry;
  readonly kind: DialogueKind;
  /** `train`: material for train, dev and ood; `test`: the published test sessions. */
  readonly pool: "train" | "test";
  readonly place: Place;
  readonly content: Usable | Unusable;
}

/** A role and the digests of what describes it. */
export interface SourceRole extends RoleEntry {
  readonly profileSha256: string | null;
  readonly referenceClipSha256: string | null;
  /** SHA-256 of the samples of the reference clip in the stored form; null without a clip, or with an unreadable one. */
  readonly referencePcmSha256: string | null;
}

/** Hands out so many bytes, whatever is in them. */
export type Allocate = (size: number) => Uint8Array;

export interface ClipFault {
  readonly outcome: "rejected";
  readonly reason: string;
  readonly message: string;
}
export interface ClipBytes {
  readonly outcome: "bytes";
  readonly bytes: Uint8Array;
  /** Of a file: the same stamp later means the same bytes. Left out where nothing can promise that. */
  readonly stamp?: string;
}

/**
 * The port each source layout implements. Dialogues come in any order, one at a time; none is held. What a dialogue is
 * called never depends on its position or on a file name.
 */
export interface DialogueSource {
  readonly roles: readonly SourceRole[];
  /** What is known of the script of a role, by its slug, in the form that texts are compared in. */
  readonly scripts: ReadonlyMap<string, string>;
  /** Parts that can be read by themselves and at once, such as files: together they are the whole source, none twice. */
  readonly units: readonly string[];
  /** Which state this is, where the source knows better than its spec; else null. */
  readonly revision: string | null;
  /** Folder or file (absolute) that holds everything whose content decides the result. */
  readonly folder: string;
  /** Files that belong to no role of the manifest, relative to the source folder. */
  readonly strangers: readonly string[];
  dialogues(unit: string, signal?: AbortSignal): AsyncIterable<Found>;
  /** The same dialogue again. UserError `SOURCE_CHANGED` when it is not there any more. */
  read(found: Pick<Found, "role" | "kind" | "place">): Promise<Draft>;
  /** The bytes of a clip; those of a file in memory from `allocate`, if there is one. */
  clip(source: ClipSource, allocate?: Allocate): Promise<ClipBytes | ClipFault>;
  close(): Promise<void>;
}
