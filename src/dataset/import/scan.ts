import type { Defect } from "./defects.ts";
import type { RoleFacts } from "./role-facts.ts";

/** What a folder, or a single manifest or table, holds. */
export interface Scan {
  readonly format: "speechrole-release" | "manifest" | "parquet";
  /** Sorted by stem. */
  readonly roles: readonly RoleFacts[];
  /** False where dialogues were counted without looking at their turns. */
  readonly turnsAreKnown: boolean;
  /** The files of a manifest or table, as they were read; none of a release, whose files are its roles. */
  readonly files: readonly FileCount[];
  /** Turns by the form of their audio; the forms of the release tell its generation. */
  readonly forms: ReadonlyMap<string, number>;
  /** Dialogues that a pack would leave out, as far as an import sees it; a pack names each. */
  readonly unusable: number;
  /** There are dialogues, and no question of them has audio. */
  readonly isSilent: boolean;
  readonly defects: readonly Defect[];
  readonly isSpeechRole: boolean;
}

/** What one file gave. */
export interface FileCount {
  readonly file: string;
  readonly dialogues: number;
  readonly unusable: number;
}

export interface ScanOptions {
  readonly signal?: AbortSignal | undefined;
  /** Called with each file that has been read. */
  readonly onProgress?: ((file: string) => void) | undefined;
}
