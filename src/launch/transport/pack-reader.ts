import { createHash, type Hash } from "node:crypto";
import { open } from "node:fs/promises";

/** What became of one file of a stream that holds many. */
export interface PackedFile {
  readonly part: string;
  /** `absent`: none of it has come. `torn`: not all of it, or other bytes than were promised. */
  readonly state: "absent" | "torn" | "whole";
}

export interface PackReader {
  /** Takes the next bytes of the stream; what belongs to a file is on its way to the disk when it resolves. */
  take(chunk: Buffer): Promise<void>;
  /** Closes the file under way. */
  close(): Promise<readonly PackedFile[]>;
  readonly files: readonly PackedFile[];
}

interface Entry {
  part: string;
  state: PackedFile["state"];
  bytes: number;
  sha256: string;
}

interface Current {
  readonly entry: Entry;
  readonly file: Awaited<ReturnType<typeof open>>;
  readonly hash: Hash;
  left: number;
}

const NEWLINE = 0x0a;
const LONGEST_LINE = 100;

/**
 * Reads what the far side sends of a pack: a line with the size of each file, a line with the digest of each, then their bytes. Each
 * goes into its part. Keeps no more than one chunk in memory.
 */
export const packReader = (parts: readonly string[]): PackReader => {
  const entries: Entry[] = parts.map((part) => ({ part, state: "absent", bytes: 0, sha256: "" }));
  const lines: string[] = [];
  let head: Buffer = Buffer.alloc(0);
  let next = 0;
  let current: Current | undefined;

  // Returns what lies behind the head.
  const readHead = (chunk: Buffer): Buffer => {
    head = Buffer.concat([head, chunk]);
    for (let end = head.indexOf(NEWLINE); end !== -1; end = head.indexOf(NEWLINE)) {
      lines.push(head.toString("latin1", 0, end));
      head = head.subarray(end + 1);
      if (lines.length < parts.length * 2) continue;
      for (const [index, entry] of entries.entries()) {
        entry.bytes = Number(lines[index]);
        entry.sha256 = lines[index + parts.length] ?? "";
      }
      return head;
    }
    if (head.length > LONGEST_LINE) throw new Error("the far side did not say which files follow");
    return Buffer.alloc(0);
  };
  // The file that is being taken in, or the next one; undefined after the last.
  const begin = async (): Promise<typeof current> => {
    const entry = entries[next];
    if (current !== undefined || entry === undefined) return current;
    next += 1;
    entry.state = "torn";
    current = { entry, file: await open(entry.part, "w"), hash: createHash("sha256"), left: entry.bytes };
    return current;
  };
  const finish = async (): Promise<void> => {
    if (current === undefined || current.left > 0) return;
    const { entry, file, hash } = current;
    current = undefined;
    await file.close();
    if (hash.digest("hex") === entry.sha256) entry.state = "whole";
  };

  return {
    files: entries,
    take: async (chunk) => {
      let rest = lines.length < parts.length * 2 ? readHead(chunk) : chunk;
      if (lines.length < parts.length * 2) return;
      // Empty files have their turn, too.
      for (let taking = await begin(); taking !== undefined; taking = await begin()) {
        const bytes = rest.subarray(0, taking.left);
        rest = rest.subarray(bytes.length);
        taking.hash.update(bytes);
        taking.left -= bytes.length;
        if (bytes.length > 0) await taking.file.appendFile(bytes);
        if (taking.left > 0) return;
        await finish();
      }
    },
    close: async () => {
      await current?.file.close();
      current = undefined;
      return entries;
    },
  };
};
