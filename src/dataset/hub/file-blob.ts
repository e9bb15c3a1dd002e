import { Buffer } from "node:buffer";
import { open, stat, type FileHandle } from "node:fs/promises";
import { UserError } from "../../core/errors.ts";

const CHUNK_BYTES = 256 * 1024;

type Bytes = Uint8Array<ArrayBuffer>;

/** What a file looked like when it was checked; another stamp means it was written since. */
interface Stamp {
  readonly path: string;
  readonly size: number;
  readonly text: string;
}

/**
 * A file as a Blob that is read when it is needed, as often as needed, and never as a whole. Reading rejects with UserError
 * `SHARD_CHANGED` once the file is not the one any more that it was made of.
 */
export class FileBlob extends Blob {
  override readonly size: number;
  readonly #stamp: Stamp;
  readonly #start: number;
  readonly #end: number;

  private constructor(stamp: Stamp, start: number, end: number) {
    super([]);
    this.size = end - start;
    this.#stamp = stamp;
    this.#start = start;
    this.#end = end;
  }

  static async of(path: string): Promise<FileBlob> {
    const { size, text } = await stampOf(path);
    return new FileBlob({ path, size, text }, 0, size);
  }

  override slice(start = 0, end = this.size): FileBlob {
    const from = this.#start + Math.min(start, this.size);
    return new FileBlob(this.#stamp, from, Math.max(from, this.#start + Math.min(end, this.size)));
  }

  override async arrayBuffer(): Promise<ArrayBuffer> {
    const whole = new Uint8Array(this.size);
    let filled = 0;
    for await (const chunk of this.stream()) {
      whole.set(chunk, filled);
      filled += chunk.byteLength;
    }
    return whole.buffer;
  }

  override async text(): Promise<string> {
    return Buffer.from(await this.arrayBuffer()).toString("utf8");
  }

  override stream(): ReadableStream<Bytes> {
    const end = this.#end;
    let position = this.#start;
    let file: FileHandle | undefined;
    const next = async (): Promise<Bytes | undefined> => {
      if (position >= end) return undefined;
      file ??= await openUnchanged(this.#stamp);
      const chunk = new Uint8Array(Math.min(CHUNK_BYTES, end - position));
      const { bytesRead } = await file.read(chunk, 0, chunk.byteLength, position);
      if (bytesRead === 0) throw changed(this.#stamp.path);
      position += bytesRead;
      return chunk.subarray(0, bytesRead);
    };
    return new ReadableStream<Bytes>(
      {
        async pull(controller) {
          try {
            const chunk = await next();
            if (chunk) return controller.enqueue(chunk);
            await file?.close();
            controller.close();
          } catch (error) {
            await file?.close();
            throw error;
          }
        },
        cancel: async () => file?.close(),
      },
      { highWaterMark: 0 },
    );
  }
}

async function stampOf(path: string): Promise<{ readonly size: number; readonly text: string }> {
  const { size, mtimeNs, ino } = await stat(path, { bigint: true });
  return { size: Number(size), text: `${size}-${mtimeNs}-${ino}` };
}

async function openUnchanged({ path, text }: Stamp): Promise<FileHandle> {
  const file = await open(path, "r");
  const { size, mtimeNs, ino } = await file.stat({ bigint: true });
  if (`${size}-${mtimeNs}-${ino}` === text) return file;
  await file.close();
  throw changed(path);
}

function changed(path: string): UserError {
  return new UserError("SHARD_CHANGED", `${path} was changed while it was being sent`, {
    hint: "run the same command again when nothing writes to the packed data set any more",
  });
}
