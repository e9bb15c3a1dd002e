import { z } from "zod";
import { RemoteError } from "../../core/errors.ts";
import { parseJson } from "../../core/files.ts";

// The lines that `python -m understudy_payload.embed` writes; CONTRACT.md of the payload describes them.
const Reply = z.union([
  z.object({ id: z.int(), vectors: z.string() }),
  z.object({ error: z.object({ code: z.string(), message: z.string(), hint: z.string() }) }),
]);

export const requestLine = (id: number, texts: readonly string[]): string =>
  `${JSON.stringify({ id, texts })}\n`;

/**
 * The vectors of request `id` out of a reply's line, `count` of `dimension` numbers. RemoteErrors: the payload's own, and
 * `EMBEDDING_REPLY` for a line that is no reply to it.
 */
export const vectorsOf = (
  line: string,
  expected: { readonly id: number; readonly count: number; readonly dimension: number },
): Float32Array[] => {
  const { id, count, dimension } = expected;
  const reply = replyOf(line);
  if ("error" in reply) {
    const { code, message, hint } = reply.error;
    throw new RemoteError(code, `The embedding model failed: ${message}`, hint === "" ? {} : { hint });
  }
  const bytes = Buffer.from(reply.vectors, "base64");
  if (reply.id !== id || bytes.length !== count * dimension * 4) {
    throw unexpected(
      `request ${reply.id} with ${bytes.length} bytes; request ${id} with ${count} vectors of ${dimension} numbers was expected`,
    );
  }
  return Array.from({ length: count }, (_, row) =>
    Float32Array.from({ length: dimension }, (__, index) => bytes.readFloatLE((row * dimension + index) * 4)),
  );
};

function replyOf(line: string): z.output<typeof Reply> {
  try {
    return parseJson(line, Reply, "the reply");
  } catch (error) {
    throw unexpected(JSON.stringify(line.slice(0, 200)), error);
  }
}

function unexpected(what: string, cause?: unknown): RemoteError {
  return new RemoteError("EMBEDDING_REPLY", `The embedding program answered ${what}`, { cause });
}
