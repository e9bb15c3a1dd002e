import { createHash, type Hash } from "node:crypto";
import { closeSync, fsyncSync, openSync, writeSync } from "node:fs";
import { ByteWriter } from "hyparquet-writer";

// Small pieces are gathered; a clip goes to the file from where it lies.
const GATHERED_BYTES = 262_144;

export interface FileSummary {
  readonly bytes: number;
  readonly sha256: string;
}

/**
 * A new file as the Parquet writer wants it. Its digest is made of the bytes as they go by, so that nothing is read again.
 * `finish` syncs it; `close` gives it back whatever happened.
 */
export class ShardFile extends ByteWriter {
  readonly #file: number;
  readonly #onLarge: (bytes: number) => void;
  readonly #hash: Hash = createHash("sha256");
  #summary: FileSummary | undefined;
  #isOpen = true;

  /** `onLarge` is told the size of each large piece that the writer has made and needs no more. */
  constructor(path: string, onLarge: (bytes: number) => void) {
    super(2 * GATHERED_BYTES);
    this.#onLarge = onLarge;
    this.#file = openSync(path, "wx");
  }

  /** Of the finished file. */
  get summary(): FileSummary | undefined {
    return this.#summary;
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
      this.#onLarge(value.length);
    }
  }

  override finish(): void {
    this.#empty();
    fsyncSync(this.#file);
    this.#summary = { bytes: this.offset, sha256: this.#hash.digest("hex") };
  }

  close(): void {
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
