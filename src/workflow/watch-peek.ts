import { UnderstudyError } from "../core/errors.ts";
import type { ReadBytes } from "../track/index.ts";

const BLOCK = 1024 * 1024;
const NEWLINE = 0x0a;

export interface Peeked {
  /** A complete line has come since. */
  readonly hasLines: boolean;
  /** Reads on from there without asking again for what is known. */
  readonly read: ReadBytes;
}

/** Looks whether a run has written anything after a byte position, before anybody takes hold of it. */
export const peekEvents = async (read: ReadBytes, from: number): Promise<Peeked> => {
  const block = Buffer.from(await readOrNothing(read, from));
  // A full block may not be all there is.
  if (block.length >= BLOCK) return { hasLines: true, read };
  return {
    hasLines: block.includes(NEWLINE),
    read: async (start, end) => {
      const isKnown = start >= from && start <= from + block.length;
      return isKnown ? block.subarray(start - from, end - from) : read(start, end);
    },
  };
};

async function readOrNothing(read: ReadBytes, from: number): Promise<Uint8Array> {
  try {
    return await read(from, from + BLOCK);
  } catch (error) {
    if (error instanceof UnderstudyError && error.code === "ARTIFACT_MISSING") return new Uint8Array();
    throw error;
  }
}
