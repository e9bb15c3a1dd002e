import { mkdir, open, type FileHandle } from "node:fs/promises";
import { join } from "node:path";
import type { Clock } from "../../core/clock.ts";
import { systemCode, UserError } from "../../core/errors.ts";
import { syncFolder } from "../../core/files.ts";
import { digestOf } from "../../core/hash.ts";
import { withProcessLock } from "../../core/process-lock.ts";
import type { EmbedderFingerprint } from "./embedder.ts";
import {
  encodeRecord,
  HEADER_BYTES,
  headerOf,
  keyOfRecord,
  recordBytes,
  vectorOfRecord,
} from "./vector-record.ts";

export interface CachedVector {
  /** SHA-256 of the exact text, hexadecimal. */
  readonly key: string;
  readonly vector: Float32Array;
}

// Read at once while looking through the file, and while reading neighbours.
const CHUNK_BYTES = 4_000_000;

/**
 * The vectors of one fingerprint in one append-only file. Any number of processes of this machine may use it at once: they
 * append in turn, and the first vector written for a text is the one that all of them get. A record that was not written
 * whole (killed, full disk) counts as none, and is cut off before the next is appended.
 */
export class VectorCache {
  readonly path: string;
  readonly #folder: string;
  readonly #fingerprint: EmbedderFingerprint;
  readonly #clock: Clock;
  readonly #offsets = new Map<string, number>();
  readonly #size: number;
  #scanned = 0;

  /** `folder`: on a local disk, below the project's state. Nothing is made before the first vector is added. */
  constructor(folder: string, fingerprint: EmbedderFingerprint, clock: Clock) {
    const model = fingerprint.model.replaceAll(/[^A-Za-z0-9]+/g, "-").slice(-60);
    this.#folder = folder;
    this.#fingerprint = fingerprint;
    this.#clock = clock;
    this.#size = recordBytes(fingerprint.dimension);
    this.path = join(folder, `${model}-${digestOf(fingerprint).slice(0, 16)}.vectors`);
  }

  /** The vectors of some keys, undefined for each that is not here. UserError `VECTOR_CACHE_INVALID`. */
  async get(keys: readonly string[]): Promise<(Float32Array | undefined)[]> {
    const file = await openIfExists(this.path);
    if (file === undefined) return keys.map(() => undefined);
    try {
      await this.#scan(file);
      return await this.#read(file, keys);
    } finally {
      await file.close();
    }
  }

  /**
   * Adds vectors, on disk when this resolves, and returns the ones that hold: the earlier one where another process was
   * first. UserErrors `DISK_FULL`, `VECTOR_CACHE_INVALID`.
   */
  async add(entries: readonly CachedVector[], signal?: AbortSignal): Promise<Float32Array[]> {
    const options = { clock: this.#clock, ...(signal === undefined ? {} : { signal }) };
    try {
      await mkdir(this.#folder, { recursive: true });
      return await withProcessLock(`${this.path}.lock`, options, async () => this.#addAlone(entries));
    } catch (error) {
      if (!["ENOSPC", "EDQUOT", "EFBIG"].includes(systemCode(error) ?? "")) throw error;
      throw new UserError("DISK_FULL", `No space left while writing ${this.path}`, {
        hint: "free some space and run the same command again: texts that were embedded before are not embedded again",
        cause: error,
      });
    }
  }

  async #addAlone(entries: readonly CachedVector[]): Promise<Float32Array[]> {
    const isNew = (await openIfExists(this.path).then(closed)) === undefined;
    const file = await open(this.path, isNew ? "w+" : "r+");
    try {
      await this.#scan(file);
      const missing = new Map(
        entries.filter(({ key }) => !this.#offsets.has(key)).map((entry) => [entry.key, entry]),
      );
      const records = [...missing.values()].map(({ key, vector }) => encodeRecord(key, vector));
      await this.#append(file, records);
      if (isNew) await syncFolder(this.#folder);
      await this.#scan(file);
      const held = await this.#read(
        file,
        entries.map(({ key }) => key),
      );
      return held.map((vector, index) => vector ?? entries[index]?.vector ?? new Float32Array());
    } finally {
      await file.close();
    }
  }

  async #append(file: FileHandle, records: readonly Buffer[]): Promise<void> {
    const whole = this.#scanned;
    const header = whole === 0 ? [headerOf(this.#fingerprint)] : [];
    if (records.length === 0 && header.length === 0) return;
    await file.truncate(whole);
    await writeAll(file, Buffer.concat([...header, ...records]), whole);
    await file.datasync();
  }

  // Whole records from where the last look ended. A file shorter than a header was killed while it was begun.
  async #scan(file: FileHandle): Promise<void> {
    const { size } = await file.stat();
    if (size < this.#scanned) {
      // Somebody deleted it, and another process has begun it anew.
      this.#offsets.clear();
      this.#scanned = 0;
    }
    if (this.#scanned === 0) {
      if (size < HEADER_BYTES) return;
      const header = await readAt(file, 0, HEADER_BYTES);
      if (!header.equals(headerOf(this.#fingerprint))) {
        throw new UserError("VECTOR_CACHE_INVALID", `${this.path} does not hold vectors of this model`, {
          hint: "delete it: its texts are embedded again",
        });
      }
      this.#scanned = HEADER_BYTES;
    }
    const step = Math.max(1, Math.floor(CHUNK_BYTES / this.#size));
    for (let left = this.#recordsUpTo(size); left > 0; left = this.#recordsUpTo(size)) {
      const count = Math.min(left, step);
      const bytes = await readAt(file, this.#scanned, count * this.#size);
      for (let index = 0; index < count; index += 1) {
        const key = keyOfRecord(bytes.subarray(index * this.#size, (index + 1) * this.#size));
        if (key !== undefined && !this.#offsets.has(key))
          this.#offsets.set(key, this.#scanned + index * this.#size);
      }
      this.#scanned += count * this.#size;
    }
  }

  #recordsUpTo(size: number): number {
    return Math.floor((size - this.#scanned) / this.#size);
  }

  // Neighbours are read together: a role's texts were added together.
  async #read(file: FileHandle, keys: readonly string[]): Promise<(Float32Array | undefined)[]> {
    const offsets = new Set(
      keys.map((key) => this.#offsets.get(key)).filter((offset) => offset !== undefined),
    );
    const sorted = [...offsets].toSorted((a, b) => a - b);
    const vectors = new Map<string | undefined, Float32Array>();
    for (let first = 0; first < sorted.length;) {
      const start = sorted[first] ?? 0;
      let count = 1;
      while (sorted[first + count] === start + count * this.#size && (count + 1) * this.#size <= CHUNK_BYTES)
        count += 1;
      const bytes = await readAt(file, start, count * this.#size);
      for (let offset = 0; offset + this.#size <= bytes.length; offset += this.#size) {
        const record = bytes.subarray(offset, offset + this.#size);
        vectors.set(keyOfRecord(record), vectorOfRecord(record));
      }
      first += count;
    }
    return keys.map((key) => vectors.get(key));
  }
}

async function openIfExists(path: string): Promise<FileHandle | undefined> {
  try {
    return await open(path, "r");
  } catch (error) {
    if (systemCode(error) === "ENOENT") return undefined;
    throw error;
  }
}

async function closed(file: FileHandle | undefined): Promise<true | undefined> {
  await file?.close();
  return file === undefined ? undefined : true;
}

async function readAt(file: FileHandle, position: number, length: number): Promise<Buffer> {
  const { buffer, bytesRead } = await file.read(Buffer.alloc(length), 0, length, position);
  return buffer.subarray(0, bytesRead);
}

async function writeAll(file: FileHandle, bytes: Buffer, position: number): Promise<void> {
  for (let done = 0; done < bytes.length;) {
    const { bytesWritten } = await file.write(bytes, done, bytes.length - done, position + done);
    done += bytesWritten;
  }
}
