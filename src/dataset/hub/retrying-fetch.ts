import { messageOf, UnderstudyError } from "../../core/errors.ts";
import { askedWait } from "./asked-wait.ts";
import { faultOf, HubFault } from "./hub-fault.ts";
import { RETRY_POLICY, type HubWorld, type RetryPolicy } from "./hub-world.ts";
import { requestOf, sendRequest, type HubRequest } from "./send-request.ts";
import { stallWatch, type StallWatch } from "./stall-watch.ts";

/** A reply whose body is still to come, with the watch that ends it when it stands still: stop it. */
export interface OpenReply {
  readonly response: Response;
  readonly watch: StallWatch;
}

/**
 * A `fetch` that resolves with good replies only, whole ones, and asks again after 408, 429, 5xx, resets and stalls: with the
 * wait that the server asks for, within the policy. A commit is asked again only when it was surely not done. Everything
 * else rejects with `HubFault`, which quotes neither a token nor a query (links are signed there).
 */
export const retryingFetch =
  (world: HubWorld): typeof fetch =>
  async (input, init) => {
    const request = requestOf(input, init);
    const { body, reply } = await retried(request, world, async ({ response, watch }) => ({
      reply: response,
      body: await wholeBody(response, watch),
    }));
    const headers = new Headers(reply.headers);
    // The body below is decoded already.
    for (const name of ["content-encoding", "content-length"]) headers.delete(name);
    const empty = reply.status === 204 || reply.status === 304;
    return new Response(empty ? null : body, { status: reply.status, headers });
  };

/** As `retryingFetch` up to the headers of a good reply; its body is the caller's to read, and to ask for again. */
export const openReply = async (
  url: string,
  headers: Readonly<Record<string, string>>,
  world: HubWorld,
): Promise<OpenReply> => retried(requestOf(url, { headers }), world, async (open) => open);

async function retried<Result>(
  request: HubRequest,
  world: HubWorld,
  read: (open: OpenReply) => Promise<Result>,
): Promise<Result> {
  const policy = { ...RETRY_POLICY, ...world.policy };
  const started = world.clock.now();
  for (let attempt = 1; ; attempt++) {
    const outcome = await once(request, { world, policy, read });
    if (outcome.kind === "ok") return outcome.result;
    const { error, asked } = outcome;
    const wait = Math.max(asked, Math.min(1000 * 2 ** (attempt - 1), MOST_BACKOFF));
    const spent = world.clock.now() - started + wait;
    if (error.fault.mayBeDone && isCommit(request)) throw unsure(error);
    if (!isPassing(error) || attempt >= policy.attempts || spent > policy.budgetMs) throw error;
    if (asked > policy.longestWaitMs) throw later(error, asked);
    world.onPause?.({ milliseconds: wait, reason: error.message });
    await world.clock.sleep(wait, request.signal ?? world.signal);
  }
}

const MOST_BACKOFF = 60_000;

type Outcome<Result> =
  | { readonly kind: "ok"; readonly result: Result }
  | { readonly kind: "failed"; readonly error: HubFault; readonly asked: number };

interface Attempt<Result> {
  readonly world: HubWorld;
  readonly policy: RetryPolicy;
  readonly read: (open: OpenReply) => Promise<Result>;
}

async function once<Result>(request: HubRequest, attempt: Attempt<Result>): Promise<Outcome<Result>> {
  const { policy, read } = attempt;
  const signals = [request.signal, attempt.world.signal].filter((signal) => signal !== undefined);
  const watch = stallWatch(policy.stallMs, AbortSignal.any(signals));
  let sent = 0;
  const onSent = (bytes: number): void => {
    sent += bytes;
    attempt.world.onSent?.(bytes);
  };
  const world = { ...attempt.world, onSent };
  try {
    const response = await sendRequest(request, world, watch);
    if (response.ok) return { kind: "ok", result: await read({ response, watch }) };
    onSent(-sent);
    const said = new TextDecoder().decode(await wholeBody(response, watch));
    const error = faultOf(response, {
      where: shownUrl(request.url),
      said: quotable(said, response, world.token),
      isUpload: isUpload(request),
    });
    return { kind: "failed", error, asked: askedWait(response.headers, world.clock.now()) };
  } catch (error) {
    watch.stop();
    for (const signal of signals) signal.throwIfAborted();
    const inner = innermost(error);
    if (inner instanceof UnderstudyError) throw inner;
    onSent(-sent);
    return { kind: "failed", error: unreachable(request, inner, watch), asked: 0 };
  }
}

// The body before the watch is stopped: a reply can be cut or stand still in its middle.
async function wholeBody(response: Response, watch: StallWatch): Promise<Uint8Array<ArrayBuffer>> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of response.body ?? []) {
    watch.moved(chunk.byteLength);
    chunks.push(chunk);
    size += chunk.byteLength;
  }
  watch.stop();
  const whole = new Uint8Array(size);
  let filled = 0;
  for (const chunk of chunks) {
    whole.set(chunk, filled);
    filled += chunk.byteLength;
  }
  return whole;
}

// fetch says "fetch failed" and keeps the reason in its cause; an error of a body that is read comes that way too.
function innermost(thrown: unknown): unknown {
  let inner = thrown;
  while (inner instanceof Error && !(inner instanceof UnderstudyError) && inner.cause !== undefined)
    inner = inner.cause;
  return inner;
}

function unreachable(request: HubRequest, inner: unknown, watch: StallWatch): HubFault {
  const { url } = request;
  const why = watch.stalled() ? "no bytes moved any more" : messageOf(inner).replaceAll(url, shownUrl(url));
  return new HubFault("HUB_UNREACHABLE", `${shownUrl(url)} gave no complete answer: ${why}`, {
    fault: { status: null, errorCode: null, mayBeDone: true, isUpload: isUpload(request) },
    hint: "check the network and HF_ENDPOINT, then run the same command again: it goes on where it stopped",
  });
}

// Servers echo tokens when they refuse them.
function quotable(said: string, { status, headers }: Response, token: string | undefined): string {
  const isJson = headers.get("content-type")?.includes("json") ?? false;
  const body = isJson ? errorTextOf(said) : said.startsWith("<") ? "" : said;
  const text = headers.get("x-error-message") ?? (status === 401 || status === 403 ? "" : body);
  return token === undefined ? text : text.replaceAll(token, "[HF_TOKEN]");
}

function errorTextOf(said: string): string {
  try {
    const value: unknown = JSON.parse(said);
    if (typeof value === "object" && value !== null && "error" in value) return String(value.error);
  } catch {
    // What is no JSON is quoted as it is.
  }
  return said;
}

const isPassing = ({ fault: { status } }: HubFault): boolean =>
  status === null || status >= 500 || status === 408 || status === 429;

const isCommit = ({ method, url }: HubRequest): boolean =>
  method === "POST" && /^\/api\/datasets\/[^/]+\/[^/]+\/commit\//.test(new URL(url).pathname);

const isUpload = ({ method, url }: HubRequest): boolean =>
  method === "PUT" ||
  (method === "POST" && !/^\/api\/|\/info\/lfs\/objects\/batch$/.test(new URL(url).pathname));

function unsure({ message, hint, fault }: HubFault): HubFault {
  return new HubFault("HUB_COMMIT_UNSURE", message, { fault, ...(hint === undefined ? {} : { hint }) });
}

function later({ message, fault }: HubFault, asked: number): HubFault {
  const minutes = Math.ceil(asked / 60_000);
  return new HubFault("HUB_RETRY_LATER", `${message} (it asks to wait ${minutes} minutes)`, {
    fault,
    hint: "run the same command again after that time: it goes on where it stopped",
  });
}

const shownUrl = (url: string): string => {
  const { origin, pathname } = new URL(url);
  return `${origin}${pathname}`;
};
