import { Readable, type Writable } from "node:stream";
import type { ExecOptions } from "./transport.ts";

/**
 * The line that starts the command, then its input, as fast as the far side takes it. Resolves when all was sent, when the far side
 * takes no more (a program may end without reading its input: that is its own affair), or when `over` aborts; the input is
 * destroyed then. Rejects only with an error of the input itself.
 */
export const send = async (
  stdin: Writable,
  { line, input }: { readonly line: string; readonly input: ExecOptions["stdin"] },
  over: AbortSignal,
): Promise<void> => {
  const closed = new Promise<void>((resolve) => {
    stdin.once("close", resolve).on("error", () => resolve());
    over.addEventListener("abort", () => resolve(), { once: true });
  });
  stdin.write(line);
  if (!(input instanceof Readable)) {
    stdin.end(input);
    return;
  }
  // One that has nothing to give at the moment would hold us for ever.
  let isOver = false;
  void closed.then(() => {
    isOver = true;
    input.destroy();
  });
  try {
    for await (const chunk of input) {
      if (!stdin.writable) break;
      const isFull = !stdin.write(chunk);
      if (isFull) await Promise.race([closed, new Promise((resolve) => void stdin.once("drain", resolve))]);
    }
    if (stdin.writable) stdin.end();
  } catch (error) {
    // An input that we ended ourselves breaks off too: what became of the channel says why.
    if (!isOver && stdin.writable && !over.aborted) throw error;
  }
};
