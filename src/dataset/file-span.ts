import type { FileHandle } from "node:fs/promises";

/** Bytes [start, end) of a file. Error when it ends before. */
export const readSpan = async (file: FileHandle, start: number, end: number): Promise<ArrayBuffer> => {
  const bytes = memory(end - start);
  for (let done = 0; done < bytes.length;) {
    const { bytesRead } = await file.read(bytes, done, bytes.length - done, start + done);
    if (bytesRead === 0) throw new Error("the file ends too early");
    done += bytesRead;
  }
  return bytes.buffer;
};

// A clip's memory is not set to zero first: every byte is read over. It is not of Node's pool, so that it can be given away whole.
function memory(size: number): Uint8Array<ArrayBuffer> {
  return new Uint8Array(Buffer.allocUnsafeSlow(size).buffer);
}
