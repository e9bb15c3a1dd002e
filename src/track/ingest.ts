import { UnderstudyError } from "../core/errors.ts";
import type { Lease } from "./leases.ts";
import { readPayloadLine, type PayloadLine } from "./payload-lines.ts";
import type { Store } from "./store.ts";

/** Name of the stream that a payload writes its events to; its cursor counts bytes. */
export const EVENTS_STREAM = "events.jsonl";
const BLOCK = 1024 * 1024;
const NEWLINE = 0x0a;

/** Bytes [start, end) of the run's events.jsonl, fewer at its end; `ARTIFACT_MISSING` while there is none. */
export type ReadBytes = (start: number, end: number) => Promise<Uint8Array>;

/**
 * Takes in the complete lines that the payload has written since the last time, each exactly once: lines and position are
 * one transaction. A torn last line waits for its end. Returns the new lines.
 */
export const ingestPayloadEvents = async (
  store: Store,
  lease: Lease,
  read: ReadBytes,
): Promise<readonly PayloadLine[]> => {
  const taken: PayloadLine[] = [];
  for (;;) {
    const from = store.cursor(lease.runId, EVENTS_STREAM);
    const bytes = await completeLines(read, from);
    if (bytes === undefined) return taken;
    const lines = bytes
      .toString("utf8")
      .split("\n")
      .filter((line) => line.trim() !== "")
      .map(readPayloadLine);
    if (store.ingest(lease, { stream: EVENTS_STREAM, from, to: from + bytes.length, lines }))
      taken.push(...lines);
  }
};

async function completeLines(read: ReadBytes, from: number): Promise<Buffer | undefined> {
  for (let size = BLOCK; ; size *= 2) {
    const bytes = Buffer.from(await readOrNothing(read, from, from + size));
    const last = bytes.lastIndexOf(NEWLINE);
    if (last !== -1) return bytes.subarray(0, last + 1);
    if (bytes.length < size) return undefined;
  }
}

async function readOrNothing(read: ReadBytes, start: number, end: number): Promise<Uint8Array> {
  try {
    return await read(start, end);
  } catch (error) {
    if (error instanceof UnderstudyError && error.code === "ARTIFACT_MISSING") return new Uint8Array();
    throw error;
  }
}
