import type { Watch } from "./hand.ts";

/** `check` reads and judges dialogues, `compare` looks for near-duplicates, `write` writes rows. */
export interface PackProgress {
  readonly phase: "check" | "compare" | "write";
  readonly done: number;
  /** Not known before everything has been read once. */
  readonly total: number | null;
  /** Where the total is not known: the share of the source that has been read, 0 to 1, about. */
  readonly share?: number;
}

export interface PackWatch extends Watch {
  /** So many parts of the source, of so many, have been read. */
  readonly onUnits: (read: number, of: number) => void;
}

/** Counts dialogues of a phase as they go by. */
export const watcher = (
  {
    onProgress = () => {},
    signal,
  }: {
    readonly onProgress?: (progress: PackProgress) => void;
    readonly signal?: AbortSignal;
  },
  phase: PackProgress["phase"],
  total: number | null,
): PackWatch => {
  let done = 0;
  let share: number | undefined;
  return {
    signal,
    onDialogues: (count) => {
      done += count;
      onProgress({ phase, done, total, ...(share !== undefined && { share }) });
    },
    onUnits: (read, of) => {
      share = read / of;
    },
  };
};
