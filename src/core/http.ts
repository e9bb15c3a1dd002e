import type { z } from "zod";
import type { Clock } from "./clock.ts";
import { messageOf, RemoteError } from "./errors.ts";
import { parseJson } from "./files.ts";

export interface JsonRequest<Schema extends z.ZodType> {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: unknown;
  readonly schema: Schema;
  /** Milliseconds for one attempt. */
  readonly timeout: number;
  /** Attempts in all; 4xx other than 408 and 429 are final at once. */
  readonly attempts: number;
}

export interface HttpWorld {
  readonly fetch: typeof fetch;
  readonly clock: Clock;
}

/** POSTs JSON and parses the reply. RemoteError `HTTP_STATUS`, `HTTP_FAILED`; no header or body is put into the error. */
export const postJson = async <Schema extends z.ZodType>(
  request: JsonRequest<Schema>,
  world: HttpWorld,
): Promise<{ readonly reply: z.output<Schema>; readonly raw: string }> => {
  for (let attempt = 1; ; attempt++) {
    const outcome = await once(request, world.fetch);
    if (outcome.kind === "ok")
      return { reply: parseJson(outcome.text, request.schema, request.url), raw: outcome.text };
    if (!outcome.retry || attempt >= request.attempts) throw outcome.error;
    await world.clock.sleep(Math.max(outcome.serverDelay, 1000 * 2 ** (attempt - 1)));
  }
};

type Outcome =
  | { readonly kind: "ok"; readonly text: string }
  | {
      readonly kind: "failed";
      readonly retry: boolean;
      readonly serverDelay: number;
      readonly error: RemoteError;
    };

async function once(request: JsonRequest<z.ZodType>, fetcher: typeof fetch): Promise<Outcome> {
  try {
    const response = await fetcher(request.url, {
      method: "POST",
      headers: { "content-type": "application/json", ...request.headers },
      body: JSON.stringify(request.body),
      signal: AbortSignal.timeout(request.timeout),
    });
    const text = await response.text();
    if (response.ok) return { kind: "ok", text };
    const { status } = response;
    return {
      kind: "failed",
      retry: status === 408 || status === 429 || status >= 500,
      serverDelay: retryAfter(response.headers.get("retry-after")),
      error: new RemoteError("HTTP_STATUS", `${request.url} answered ${status}: ${text.slice(0, 300)}`),
    };
  } catch (error) {
    const failed = new RemoteError(
      "HTTP_FAILED",
      `${request.url} could not be reached: ${messageOf(error)}`,
      { cause: error },
    );
    return { kind: "failed", retry: true, serverDelay: 0, error: failed };
  }
}

// Seconds only: the date form would need the server's clock to agree with ours.
function retryAfter(header: string | null): number {
  const seconds = Number(header ?? "");
  return Number.isFinite(seconds) && seconds > 0 ? seconds * 1000 : 0;
}
