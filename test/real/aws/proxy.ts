import { createServer, request as httpRequest, type IncomingMessage, type ServerResponse } from "node:http";
import { z } from "zod";
import { faults, type Fault } from "./faults.ts";

export interface Reply {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: Buffer;
}

export interface Call {
  readonly target: string;
  readonly body: Buffer;
  forward(changed?: Buffer): Promise<Reply>;
}

/** Answers a call itself, or undefined: it goes to the server behind. */
export type Handler = (call: Call) => Promise<Reply | undefined>;

export interface Proxy {
  readonly url: string;
  fail(fault: Fault): void;
  /** Every call so far, in order. */
  readonly seen: readonly { readonly target: string; readonly text: string }[];
  close(): Promise<void>;
}

/** A proxy in front of an AWS server that loses, delays, refuses and answers as it is told. */
export const startProxy = async (behind: string, handler: Handler): Promise<Proxy> => {
  const { hostname, port } = new URL(behind);
  const list = faults();
  const seen: { target: string; text: string }[] = [];
  const answer = async (incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> => {
    const body = await read(incoming);
    const target = targetOf(incoming);
    seen.push({ target, text: `${JSON.stringify(incoming.headers)}\n${body.toString("latin1")}` });
    const how = list.take(target);
    if (how === "drop-before") return void incoming.socket.destroy();
    if (how !== undefined && !isLate(how)) return send(outgoing, refusal(how));
    const forward = async (changed = body): Promise<Reply> =>
      pass({ hostname, port, incoming, body: changed });
    const reply = (await handler({ target, body, forward })) ?? (await forward());
    if (how === "drop-after") return void incoming.socket.destroy();
    if (how === "cut") return cut(outgoing, reply);
    send(outgoing, how === "empty-page" ? withoutEvents(reply) : reply);
  };
  const server = createServer((incoming, outgoing) => {
    answer(incoming, outgoing).catch((error: unknown) => {
      outgoing.writeHead(502).end(String(error));
    });
  });
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("no port");
  return {
    url: `http://127.0.0.1:${address.port}`,
    fail: (fault) => list.add(fault),
    seen,
    close: async () => {
      server.closeAllConnections();
      await new Promise((done) => server.close(done));
    },
  };
};

/** A refusal in the form of the services that speak JSON. */
export const refused = (status: number, type: string, message: string): Reply => ({
  status,
  headers: { "content-type": "application/x-amz-json-1.1", "x-amzn-errortype": type },
  body: Buffer.from(JSON.stringify({ __type: type, message })),
});

export const json = (value: unknown): Reply => ({
  status: 200,
  headers: { "content-type": "application/x-amz-json-1.1" },
  body: Buffer.from(JSON.stringify(value)),
});

type Late = "drop-after" | "empty-page" | "cut";
const isLate = (how: Fault["how"]): how is Late =>
  how === "drop-after" || how === "empty-page" || how === "cut";

function cut(outgoing: ServerResponse, { status, headers, body }: Reply): void {
  outgoing.writeHead(status, { ...kept(headers), "content-length": String(body.length) });
  outgoing.write(body.subarray(0, body.length / 2), () => setTimeout(() => outgoing.destroy(), 50));
}

const PAGE = Buffer.from("<html><body>This network needs you to sign in</body></html>");

function refusal(how: Exclude<Fault["how"], "drop-before" | Late>): Reply {
  if (how === "gateway") return { status: 404, headers: { "content-type": "text/html" }, body: PAGE };
  if (how === "throttle") return refused(400, "ThrottlingException", "Rate exceeded");
  if (how === "server-error") return refused(500, "InternalFailure", "We are sorry");
  return refused(how.status, how.type, how.message);
}

function targetOf({ method, url, headers }: IncomingMessage): string {
  const target = headers["x-amz-target"];
  return typeof target === "string" ? target : `${method ?? ""} ${url ?? ""}`;
}

async function read(incoming: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  // A client that waits for permission to send its body has it by now: the server gives it by itself.
  for await (const chunk of incoming) chunks.push(z.instanceof(Buffer).parse(chunk));
  return Buffer.concat(chunks);
}

async function pass(what: {
  readonly hostname: string;
  readonly port: string;
  readonly incoming: IncomingMessage;
  readonly body: Buffer;
}): Promise<Reply> {
  const { hostname, port, incoming, body } = what;
  const { "transfer-encoding": _chunked, expect: _expect, ...rest } = incoming.headers;
  const headers: Record<string, string | string[]> = { "content-length": String(body.length) };
  for (const [name, value] of Object.entries(rest))
    if (value !== undefined && name !== "content-length") headers[name] = value;
  return new Promise((done, failed) => {
    const { method = "GET", url: path = "/" } = incoming;
    const upstream = httpRequest({ hostname, port, method, path, headers }, (response) => {
      read(response)
        .then((text) => done({ status: response.statusCode ?? 502, headers: response.headers, body: text }))
        .catch(failed);
    });
    upstream.once("error", failed);
    upstream.end(body);
  });
}

function send(outgoing: ServerResponse, { status, headers, body }: Reply): void {
  // The answer to HEAD has the length of a body that is not sent.
  const told = headers["content-length"];
  const length = body.length === 0 && typeof told === "string" ? told : String(body.length);
  outgoing.writeHead(status, { ...kept(headers), "content-length": length }).end(body);
}

function kept(headers: Reply["headers"]): Record<string, string | string[]> {
  const entries = Object.entries(headers).filter(
    (entry): entry is [string, string | string[]] =>
      entry[1] !== undefined && !["connection", "transfer-encoding", "content-length"].includes(entry[0]),
  );
  return Object.fromEntries(entries);
}

function withoutEvents(reply: Reply): Reply {
  const page: unknown = JSON.parse(reply.body.toString());
  return json({
    ...(typeof page === "object" ? page : {}),
    events: [],
    nextForwardToken: "f/00000000000000000000",
  });
}
