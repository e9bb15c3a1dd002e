import type { AnswerLimits, Evaluation } from "../evaluate/index.ts";

/**
 * Where the bytes of a clip are. A path is absolute; a file that is not there is said so in the report. `read` is called
 * once, when the report is written: a whole test set need not lie in memory.
 */
export type AudioSource =
  | { readonly kind: "path"; readonly path: string }
  | { readonly kind: "bytes"; readonly bytes: Uint8Array }
  | { readonly kind: "read"; readonly read: () => Promise<Uint8Array> };

export interface ReportRole {
  readonly id: string;
  readonly name: string;
  readonly language: "en" | "zh";
  /** The work the role comes from; empty when unknown. */
  readonly source: string;
}

export interface ReportTurn {
  readonly turn: number;
  readonly userText: string;
  readonly userAudio: AudioSource | null;
  /** The reference role text: what the likelihood is taken of. */
  readonly roleText: string;
  /** Up to three spoken versions of `roleText`. */
  readonly references: readonly { readonly label: string; readonly audio: AudioSource }[];
}

/** Texts and audio of one test dialogue, for reading and listening. Not part of any number. */
export interface ReportDialogue {
  readonly id: string;
  readonly role: string;
  readonly language: "en" | "zh";
  readonly kind: "single" | "multi";
  /** Beginning of the role card. */
  readonly cardExcerpt: string;
  readonly turns: readonly ReportTurn[];
}

export interface ReportCheckpoint {
  readonly id: string;
  readonly step: number;
  /** Nats per label token on the dev split; null when it was not evaluated there. */
  readonly devLoss: number | null;
  readonly trainLoss: number | null;
  readonly label: string;
  readonly weightsDigest: string;
}

/** Losses in nats per label token. */
export interface LossPoint {
  readonly step: number;
  readonly train?: number;
  readonly dev?: number;
}

/** Which systems of the evaluation are compared. */
export interface Comparison {
  readonly base: string;
  /** Chosen by `selection`. */
  readonly chosen: string;
  readonly last: string;
}

export interface Selection {
  /** Number of checkpoints that were chosen from. */
  readonly candidates: number;
  /** `test` takes the intervals away from the chosen checkpoint: they would be optimistic. */
  readonly set: "dev" | "test";
  /** In words: `lowest dev loss`. */
  readonly rule: string;
}

export interface ProvenanceEntry {
  readonly group: string;
  readonly name: string;
  readonly value: string;
  /** Where the value comes from: `paper`, `ours`, `file`, `flag`; null where it is a fact and not a choice. */
  readonly origin: string | null;
}

/** Everything a report is made from. Plain data; the order of any list means nothing. */
export interface ReportInput {
  readonly run: string;
  /** Said before everything else, e.g. that the model is a toy. */
  readonly notice?: string;
  readonly recipe: string;
  readonly evaluation: Evaluation;
  readonly comparison: Comparison;
  readonly selection: Selection;
  readonly checkpoints: readonly ReportCheckpoint[];
  readonly losses: readonly LossPoint[];
  readonly trainingRoles: readonly string[];
  readonly roles: readonly ReportRole[];
  readonly dialogues: readonly ReportDialogue[];
  readonly provenance: readonly ProvenanceEntry[];
  /** Limits of decoding; without them an answer is known to be cut only when its row says so. */
  readonly limits?: AnswerLimits;
}
