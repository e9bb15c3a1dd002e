import type { z } from "zod";
import type { Clock } from "./clock.ts";
import { messageOf, RemoteError } from "./errors.ts";
import { parseJson } from "./files.ts";

export interface JsonRequest<Schema extends z.ZodType> {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  /** The body, JSON text already: it may be megabytes, and every attempt sends it. */
  readonly json: string;
  readonly schema: Schema;
  /** Milliseconds for one attempt. */
  readonly timeout: number;
  /** Attempts in all; 4xx other than 408 and 429 are final at once. */
  readonly attempts: number;
  /** Ends the attempt or the wait at once, with the signal's own reason. */
  readonly signal?: AbortSignal | undefined;
}

export interface HttpWorld {
  readonly fetch: typeof fetch;
  readonly clock: Clock;
  /** Replaces credentials in what a server said before it goes into an error. */
  readonly mask?: (text: string) => string;
}

/** The longest wait that a server may ask for, in milliseconds; after a longer one a person would think we hang. */
const LONGEST_WAIT = 5 * 60_000;

/**
 * POSTs JSON and parses the reply. RemoteErrors `HTTP_STATUS`, `HTTP_FAILED`, and `HTTP_RETRY_LATER` when the server asks for a
 * wait longer than five minutes. No header, request body or credential of the URL is put into an error; of a refusal the
 * first 300 characters of the reply are, masked, except of a 401 or 403: providers echo keys there.
 */
export const postJson = async <Schema extends z.ZodType>(
  request: JsonRequest<Schema>,
  world: HttpWorld,
): Promise<{ readonly reply: z.output<Schema>; readonly raw: string }> => {
  for (let attempt = 1; ; attempt++) {
    const outcome = await once(request, world);
    if (outcome.kind === "ok")
      return { reply: parseJson(outcome.text, request.schema, shownUrl(request.url)), raw: outcome.text };
    if (!outcome.retry || attempt >= request.attempts) throw outcome.error;
    const wait = Math.max(outcome.serverDelay, Math.min(1000 * 2 ** (attempt - 1), LONGEST_WAIT));
    await world.clock.sleep(wait, request.signal);
  }
};

/** Text without the `user:token@` of any URL in it. */
export const withoutUserinfo = (text: string): string =>
  text.replace(/([a-z][a-z0-9+.-]*:\/\/)[^\s/?#'"]*@/gi, "$1");

type Outcome =
  | { readonly kind: "ok"; readonly text: string }
  | {
      readonly kind: "failed";
      readonly retry: boolean;
      readonly serverDelay: number;
      readonly error: RemoteError;
    };

async function once(request: JsonRequest<z.ZodType>, world: HttpWorld): Promise<Outcome> {
  const { url, signal } = request;
  const timeout = AbortSignal.timeout(request.timeout);
  try {
    const response = await world.fetch(url, {
      method: "POST",
      headers: { "content-type": "application/json", ...request.headers },
      body: request.json,
      signal: signal === undefined ? timeout : AbortSignal.any([timeout, signal]),
    });
    const text = await response.text();
    return response.ok ? { kind: "ok", text } : refused(response, text, { url, mask: world.mask });
  } catch (error) {
    signal?.throwIfAborted();
    const shown = shownUrl(url);
    const why = messageOf(error).replaceAll(url, shown);
    // The cause may quote a URL that must not be shown.
    const cause = shown === url ? { cause: error } : {};
    const failed = new RemoteError("HTTP_FAILED", `${shown} could not be reached: ${why}`, cause);
    return { kind: "failed", retry: true, serverDelay: 0, error: failed };
  }
}

function refused(
  { status, headers }: Response,
  text: string,
  { url, mask = (said) => said }: { readonly url: string; readonly mask: HttpWorld["mask"] },
): Outcome {
  const serverDelay = retryAfter(headers.get("retry-after"));
  // Masked before it is cut: half a key is not recognised.
  const said = status === 401 || status === 403 ? "" : mask(text).slice(0, 300);
  const message = `${shownUrl(url)} answered ${status}${said === "" ? "" : `: ${said}`}`;
  const retry = status === 408 || status === 429 || status >= 500;
  if (retry && serverDelay > LONGEST_WAIT) {
    const error = new RemoteError(
      "HTTP_RETRY_LATER",
      `${message} (the server asks to wait ${Math.ceil(serverDelay / 1000)} s; at most ${LONGEST_WAIT / 1000} s are waited here)`,
      { hint: "run the same command again after that time" },
    );
    return { kind: "failed", retry: false, serverDelay, error };
  }
  return { kind: "failed", retry, serverDelay, error: new RemoteError("HTTP_STATUS", message) };
}

// A query can hold a key as well.
function shownUrl(url: string): string {
  return withoutUserinfo(url).replace(/\?.*$/s, "");
}

// Seconds only: the date form would need the server's clock to agree with ours.
function retryAfter(header: string | null): number {
  const seconds = Number(header ?? "");
  return Number.isFinite(seconds) && seconds > 0 ? seconds * 1000 : 0;
}
