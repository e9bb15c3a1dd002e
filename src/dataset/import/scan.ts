import type { Defect } from "./defects.ts";
import type { RoleFacts } from "./role-facts.ts";

/** What a folder holds. */
export interface Scan {
  readonly format: "speechrole-release" | "manifest" | "parquet";
  /** Sorted by stem. */
  readonly roles: readonly RoleFacts[];
  /** Turns by the form of their audio; the forms of the release tell its generation. */
  readonly forms: ReadonlyMap<string, number>;
  /** Dialogues that are none by their shape; a pack names each. */
  readonly unusable: number;
  readonly defects: readonly Defect[];
  readonly isSpeechRole: boolean;
}

export interface ScanOptions {
  readonly signal?: AbortSignal | undefined;
  /** Called with each file that has been read. */
  readonly onProgress?: ((file: string) => void) | undefined;
}
