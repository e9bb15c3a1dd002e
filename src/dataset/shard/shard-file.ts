import { createHash, type Hash } from "node:crypto";
import { closeSync, fdatasync, fsync, openSync, writeSync } from "node:fs";
import { promisify } from "node:util";
import { ByteWriter } from "hyparquet-writer";

// Small pieces are gathered; a clip goes to the file from where it lies.
const GATHERED_BYTES = 262_144;

export interface FileSummary {
  readonly bytes: number;
  readonly sha256: string;
}

/**
 * A new file as the Parquet writer wants it. Its digest is made of the bytes as they go by, so that nothing is read again.
 * `complete` syncs it; `close` gives it back whatever happened.
 */
export class ShardFile extends ByteWriter {
  readonly #file: number;
  readonly #hash: Hash = createHash("sha256");
  #writingBack: Promise<void> | undefined;
  #fault: unknown;
  #isOpen = true;

  constructor(path: string) {
    super(2 * GATHERED_BYTES);
    this.#file = openSync(path, "wx");
  }

  override ensure(size: number): void {
    if (this.index + size > this.buffer.byteLength) this.#empty();
    super.ensure(size);
  }

  override appendBytes(value: Uint8Array): void {
    if (value.length < GATHERED_BYTES / 2) super.appendBytes(value);
    else {
      this.#empty();
      this.#write(value);
      this.offset += value.length;
    }
  }

  /** Has the disk begin with what it was given, while this thread goes on. What goes wrong comes out of `complete`. */
  writeBack(): void {
    this.#writingBack ??= promisify(fdatasync)(this.#file)
      .catch((error: unknown) => {
        // The system tells whoever asks first, and nobody else.
        this.#fault ??= error;
      })
      .finally(() => (this.#writingBack = undefined));
  }

  /** Writes out what is left, and is on the disk when it resolves. */
  async complete(): Promise<FileSummary> {
    this.#empty();
    await this.#writingBack;
    await promisify(fsync)(this.#file);
    if (this.#fault !== undefined) throw this.#fault;
    return { bytes: this.offset, sha256: this.#hash.digest("hex") };
  }

  async close(): Promise<void> {
    await this.#writingBack;
    if (this.#isOpen) closeSync(this.#file);
    this.#isOpen = false;
  }

  #empty(): void {
    this.#write(this.getBytes());
    this.index = 0;
  }

  #write(bytes: Uint8Array): void {
    for (let done = 0; done < bytes.length;) done += writeSync(this.#file, bytes, done, bytes.length - done);
    this.#hash.update(bytes);
  }
}
