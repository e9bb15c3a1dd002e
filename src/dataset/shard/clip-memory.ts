// Of memory that is asked for and given back in pieces the C library keeps a good part. These blocks are made once and used
// again.
const BLOCK_BYTES = 2_000_000;

interface Block {
  readonly bytes: Uint8Array;
  used: number;
}

/**
 * Memory for clips, handed out from a few blocks that are used again, so that nobody has to look for clips that are not
 * needed any more. What was taken since the last `begin` is good until the `releaseEarlier` after the next one.
 */
export class ClipMemory {
  /** In use, the oldest first. */
  readonly #blocks: Block[] = [];
  readonly #free: Block[] = [];
  /** What was taken last begins in this block. */
  #begun: Block | undefined;

  /** A row begins. */
  begin(): void {
    this.#begun = this.#blocks.at(-1);
  }

  readonly take = (size: number): Uint8Array => {
    const last = this.#blocks.at(-1);
    const block = last && last.used + size <= last.bytes.length ? last : this.#next(size);
    block.used += size;
    return block.bytes.subarray(block.used - size, block.used);
  };

  /** The same bytes, copied if they do not lie here. */
  keep(bytes: Uint8Array): Uint8Array {
    if (this.holds(bytes)) return bytes;
    const place = this.take(bytes.length);
    place.set(bytes);
    return place;
  }

  holds({ buffer }: Uint8Array): boolean {
    return this.#blocks.some((block) => block.bytes.buffer === buffer);
  }

  /** What was taken before the last `begin` is not needed any more. */
  releaseEarlier(): void {
    const first = this.#begun ? this.#blocks.indexOf(this.#begun) : 0;
    for (const block of this.#blocks.splice(0, first)) {
      block.used = 0;
      // One that was made for a clip of its size alone serves no other.
      if (block.bytes.length === BLOCK_BYTES) this.#free.push(block);
    }
  }

  #next(size: number): Block {
    const free = size <= BLOCK_BYTES ? this.#free.pop() : undefined;
    const block = free ?? { bytes: new Uint8Array(Math.max(BLOCK_BYTES, size)), used: 0 };
    this.#blocks.push(block);
    return block;
  }
}
