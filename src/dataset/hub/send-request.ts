import { InternalError, messageOf, RemoteError } from "../../core/errors.ts";
import { CountedBlob } from "./counted-blob.ts";
import type { HubWorld } from "./hub-world.ts";
import type { StallWatch } from "./stall-watch.ts";

/** A request that can be sent more than once: its body is text, bytes, or a Blob that is read anew each time. */
export interface HubRequest {
  readonly url: string;
  readonly method: string;
  readonly headers: Headers;
  readonly body: string | Uint8Array<ArrayBuffer> | Blob | undefined;
  readonly signal: AbortSignal | undefined;
}

/** Reads what a caller of `fetch` gave. InternalError `BODY_NOT_REPEATABLE` for a body that can be read once only. */
export const requestOf = (input: string | URL | Request, init: RequestInit = {}): HubRequest => {
  if (input instanceof Request)
    throw new InternalError("BODY_NOT_REPEATABLE", "A Request's body can be sent once only");
  return {
    url: String(input),
    method: (init.method ?? "GET").toUpperCase(),
    headers: new Headers(init.headers),
    body: repeatable(init.body),
    signal: init.signal ?? undefined,
  };
};

function repeatable(body: RequestInit["body"]): HubRequest["body"] {
  if (body === undefined || body === null) return undefined;
  if (typeof body === "string" || body instanceof Blob) return body;
  if (body instanceof Uint8Array) return new Uint8Array(body);
  throw new InternalError(
    "BODY_NOT_REPEATABLE",
    "A request to the Hub has a body that can be sent once only",
  );
}

const MOST_REDIRECTS = 5;
const REDIRECTS = [301, 302, 303, 307, 308];

/**
 * Sends one attempt and follows redirects itself: the token goes to the Hub's own origin alone, nothing goes from https to
 * plain http, and only a request without a body may be turned into another. Rejects as `fetch` does; RemoteError
 * `HUB_REDIRECT`.
 */
export const sendRequest = async (
  request: HubRequest,
  world: HubWorld,
  watch: StallWatch,
): Promise<Response> => {
  let url = request.url;
  for (let hop = 0; hop <= MOST_REDIRECTS; hop++) {
    requireSafe(url, world.hubUrl);
    const response = await asked(world, url, {
      method: request.method,
      headers: headersFor(url, request.headers, world.hubUrl),
      redirect: "manual",
      signal: watch.signal,
      ...(request.body === undefined ? {} : bodyOf(request.body, world, watch)),
    });
    const location = response.headers.get("location");
    if (!REDIRECTS.includes(response.status) || location === null) return response;
    await response.body?.cancel();
    if (response.status < 307 && request.body !== undefined)
      throw redirectFault(url, "to be asked otherwise");
    url = new URL(location, url).href;
  }
  throw redirectFault(request.url, "in a circle");
};

// What a redirect that must not be followed is called, buried in a cause; it would be the same the next time.
async function asked(world: HubWorld, url: string, init: RequestInit): Promise<Response> {
  try {
    return await world.fetch(url, init);
  } catch (error) {
    const isRedirect = error instanceof Error && messageOf(error.cause) === "unexpected redirect";
    throw isRedirect ? redirectFault(url, "elsewhere, and an upload must not follow") : error;
  }
}

// With anything but these two settings Node's fetch keeps a copy of all that it sends, in case of a redirect: of five
// shards at once that is more than a small machine has. Links for uploads do not lead elsewhere.
const UNCOPIED = { redirect: "error", window: null } as const;

function bodyOf(
  body: NonNullable<HubRequest["body"]>,
  { onSent }: HubWorld,
  watch: StallWatch,
): Pick<RequestInit, "body" | "redirect" | "window"> {
  if (!(body instanceof Blob)) return { body };
  const onBytes = (bytes: number): void => {
    watch.moved(bytes);
    onSent?.(bytes);
  };
  return { body: new CountedBlob(body, onBytes), ...UNCOPIED };
}

function headersFor(url: string, given: Headers, hubUrl: string): Headers {
  const headers = new Headers(given);
  if (new URL(url).origin !== new URL(hubUrl).origin) {
    headers.delete("authorization");
    headers.delete("cookie");
  }
  return headers;
}

// Signed links and the corpus itself travel there.
function requireSafe(url: string, hubUrl: string): void {
  const { protocol } = new URL(url);
  if (protocol === "https:" || protocol === new URL(hubUrl).protocol) return;
  throw redirectFault(hubUrl, `to ${protocol}//, which is not encrypted`);
}

function redirectFault(url: string, where: string): RemoteError {
  const { origin, pathname } = new URL(url);
  return new RemoteError("HUB_REDIRECT", `${origin}${pathname} leads ${where}`, {
    hint: "check HF_ENDPOINT, and the proxy if there is one",
  });
}
