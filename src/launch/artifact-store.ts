/** Files of a run, wherever they lie. Paths are relative to its folder, with forward slashes. */
export interface ArtifactStore {
  /** Relative paths with sizes below a folder of the run; empty when there is none. */
  list(folder: string): Promise<readonly { readonly path: string; readonly bytes: number }[]>;
  /** Bytes [start, end) of a file. */
  read(path: string, start?: number, end?: number): Promise<Uint8Array>;
  /** SHA-256 of a file, computed where it lies; null where that is not possible. */
  digest(path: string): Promise<string | null>;
  /** Copies a file to this machine: atomically, going on where an earlier copy stopped. */
  download(path: string, to: string, options?: { readonly signal?: AbortSignal }): Promise<void>;
  /** Many files in few exchanges, where the way there has such a thing; call `downloadAll`. */
  downloadMany?(
    files: readonly { readonly path: string; readonly bytes: number; readonly to: string }[],
    options?: { readonly signal?: AbortSignal; readonly onFile?: (done: number) => void },
  ): Promise<void>;
}
