import type { DialogueKind, ReferenceBackend, RoleEntry } from "../schema.ts";

/** A clip before it is read: a file, named as the source names it, or audio inside the JSON. */
export type ClipSource =
  | { readonly kind: "file"; readonly path: string }
  | { readonly kind: "inline"; readonly data: string };

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

/** Where a dialogue stands, enough to read it again. */
export interface Place {
  /** Relative to the source folder, with forward slashes. */
  readonly file: string;
  readonly index: number;
  readonly start: number;
  readonly end: number;
}

export interface Unusable {
  readonly outcome: "unusable";
  /** Stable word. */
  readonly reason: string;
  readonly turn: number | null;
  readonly detail: string;
  /** Names the dialogue without its position: a hash of its JSON. */
  readonly label: string;
}

export interface Usable {
  readonly outcome: "dialogue";
  readonly draft: Draft;
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
}

export interface ClipFault {
  readonly outcome: "rejected";
  readonly reason: string;
  readonly message: string;
}
export interface ClipBytes {
  readonly outcome: "bytes";
  readonly bytes: Uint8Array;
}

/**
 * The port each source layout implements. Dialogues come in any order, one at a time; none is held. What a dialogue is
 * called never depends on its position or on a file name.
 */
export interface DialogueSource {
  readonly roles: readonly SourceRole[];
  /** Folder (absolute) that holds every file whose content decides the result. */
  readonly folder: string;
  /** Files that belong to no role of the manifest, relative to the source folder. */
  readonly strangers: readonly string[];
  dialogues(signal?: AbortSignal): AsyncIterable<Found>;
  /** The same dialogue again. UserError `SOURCE_CHANGED` when it is not there any more. */
  read(found: Pick<Found, "role" | "kind" | "place">): Promise<Draft>;
  clip(source: ClipSource): Promise<ClipBytes | ClipFault>;
}
