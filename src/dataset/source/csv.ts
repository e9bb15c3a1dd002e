import { UserError } from "../../core/errors.ts";

/** A dialogue of a CSV manifest: the record that its rows make, and bytes [start, end) of them. */
export interface CsvDialogue {
  readonly raw: unknown;
  readonly index: number;
  readonly start: number;
  readonly end: number;
  /** Of its first row, 1-based. */
  readonly line: number;
}

/** UserError `CSV_UNSUPPORTED`: no reader of CSV is part of this build. */
export const csvDialogues = (path: string, _signal?: AbortSignal): AsyncIterable<CsvDialogue> => {
  throw unsupported(path);
};

/** UserError `CSV_UNSUPPORTED`. */
export const csvRecord = async (path: string, _bytes: Uint8Array): Promise<unknown> => {
  throw unsupported(path);
};

const unsupported = (path: string): UserError =>
  new UserError("CSV_UNSUPPORTED", `${path} is CSV, which this build cannot read`, {
    hint: "write it as JSONL",
  });
