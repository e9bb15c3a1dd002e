import type { IncomingMessage, ServerResponse } from "node:http";
import { setTimeout as wait } from "node:timers/promises";

/** What a request is answered with. */
export interface Answer {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: Buffer | string;
}

export type Misdeed =
  /** Refused: nothing is done. */
  | { readonly kind: "answer"; readonly answer: Answer }
  /** The connection breaks before anything is done. */
  | { readonly kind: "reset" }
  /** Everything is done, and the connection breaks instead of a reply. */
  | { readonly kind: "lost-reply" }
  /** Everything is done, and a gateway answers something else. */
  | { readonly kind: "replaced-reply"; readonly answer: Answer }
  /** The body of the reply is cut after so many bytes, and the connection broken. */
  | { readonly kind: "cut"; readonly after: number }
  /** The right number of wrong bytes. */
  | { readonly kind: "wrong-bytes" }
  /** A byte at a time. */
  | { readonly kind: "trickle"; readonly milliseconds: number }
  /** No reply, ever. */
  | { readonly kind: "hang" }
  /** Calls back before or after the request is done; for killing a client right there. */
  | { readonly kind: "call"; readonly before?: () => Promise<void>; readonly after?: () => Promise<void> };

export interface FaultRule {
  /** Part of `METHOD /path?query`, or a test of it. */
  readonly on: string | RegExp;
  /** How many requests it hits; default 1. */
  readonly times?: number;
  /** How many it lets pass first. */
  readonly skip?: number;
  readonly misdeed: Misdeed;
}

export interface FaultScript {
  add(rule: FaultRule): void;
  /** The misdeed for a request, if one is due. */
  take(line: string): Misdeed | undefined;
  /** Rules that were never used up: a test that expects a fault to happen looks here. */
  left(): number;
}

export const faultScript = (): FaultScript => {
  const rules: { rule: FaultRule; skip: number; times: number }[] = [];
  return {
    add: (rule) => void rules.push({ rule, skip: rule.skip ?? 0, times: rule.times ?? 1 }),
    take: (line) => {
      for (const state of rules) {
        const { on } = state.rule;
        if (state.times <= 0 || !(typeof on === "string" ? line.includes(on) : on.test(line))) continue;
        if (state.skip-- > 0) continue;
        state.times--;
        return state.rule.misdeed;
      }
      return undefined;
    },
    left: () => rules.filter(({ times }) => times > 0 && times !== Infinity).length,
  };
};

/** Answers a request, or misbehaves. `handle` does what the request asks. */
export const respond = async (
  request: IncomingMessage,
  response: ServerResponse,
  misdeed: Misdeed | undefined,
  handle: () => Promise<Answer>,
): Promise<void> => {
  if (misdeed === undefined) return send(response, await handle());
  switch (misdeed.kind) {
    case "answer":
      return send(response, misdeed.answer);
    case "reset":
      return void request.socket.destroy();
    case "hang":
      return undefined;
    case "lost-reply":
    case "replaced-reply":
    case "call":
    case "cut":
    case "wrong-bytes":
    case "trickle":
      return afterDoing(request, response, misdeed, handle);
    default:
      return undefined;
  }
};

type Done = Exclude<Misdeed, { kind: "answer" | "reset" | "hang" }>;

async function afterDoing(
  request: IncomingMessage,
  response: ServerResponse,
  misdeed: Done,
  handle: () => Promise<Answer>,
): Promise<void> {
  if (misdeed.kind === "call") await misdeed.before?.();
  const answer = await handle();
  switch (misdeed.kind) {
    case "lost-reply":
      return void request.socket.destroy();
    case "replaced-reply":
      return send(response, misdeed.answer);
    case "call":
      await misdeed.after?.();
      return send(response, answer);
    case "cut":
    case "wrong-bytes":
    case "trickle":
      return sendBadly(response, answer, misdeed);
    default:
      return undefined;
  }
}

function send(response: ServerResponse, { status, headers = {}, body = "" }: Answer): void {
  const bytes = Buffer.from(body);
  response.writeHead(status, { ...headers, "content-length": String(bytes.length) });
  response.end(bytes);
}

async function sendBadly(
  response: ServerResponse,
  { status, headers = {}, body = "" }: Answer,
  misdeed: Extract<Misdeed, { kind: "cut" | "wrong-bytes" | "trickle" }>,
): Promise<void> {
  const bytes = Buffer.from(body);
  response.writeHead(status, { ...headers, "content-length": String(bytes.length) });
  if (misdeed.kind === "wrong-bytes") {
    const wrong = Buffer.from(bytes);
    wrong.writeUInt8(wrong.readUInt8(0) ^ 1, 0);
    return void response.end(wrong);
  }
  if (misdeed.kind === "cut") {
    response.write(bytes.subarray(0, misdeed.after), () => setTimeout(() => response.socket?.destroy(), 20));
    return;
  }
  for (const byte of bytes) {
    if (response.destroyed) return;
    response.write(Buffer.of(byte));
    await wait(misdeed.milliseconds);
  }
  response.end();
}
