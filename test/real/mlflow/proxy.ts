import { createServer, request as httpRequest, type IncomingMessage, type ServerResponse } from "node:http";
import { z } from "zod";

/**
 * What goes wrong with a call: `drop-before`, `drop-after`: the connection is cut before or after the server behind has
 * done it; `hang`: done, and never answered; else an answer of its own.
 */
export type How =
  | "drop-before"
  | "drop-after"
  | "hang"
  | { readonly status: number; readonly body?: string; readonly headers?: Readonly<Record<string, string>> };

export interface Fault {
  /** Part of the path, e.g. `runs/create`. */
  readonly path: string;
  readonly how: How;
  /** Default 1. */
  readonly times?: number;
}

export interface MlflowProxy {
  readonly url: string;
  fail(fault: Fault): void;
  /** No faults any more. */
  heal(): void;
  /** Every call so far, in order. */
  readonly seen: readonly { readonly path: string; readonly text: string }[];
  close(): Promise<void>;
}

/** A proxy in front of an MLflow server that misbehaves as it is told. */
export const startProxy = async (behind: string): Promise<MlflowProxy> => {
  const faults: { path: string; how: How; left: number }[] = [];
  const seen: { path: string; text: string }[] = [];
  const answer = async (incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> => {
    const body = await read(incoming);
    const path = incoming.url ?? "/";
    seen.push({ path, text: `${JSON.stringify(incoming.headers)}\n${body.toString("utf8")}` });
    const fault = faults.find((one) => one.left > 0 && path.includes(one.path));
    if (fault) fault.left -= 1;
    const how = fault?.how;
    if (how === "drop-before") return void incoming.socket.destroy();
    if (typeof how === "object") return void outgoing.writeHead(how.status, how.headers).end(how.body ?? "");
    const reply = await pass(behind, incoming, body);
    if (how === "hang") return;
    if (how === "drop-after") return void incoming.socket.destroy();
    outgoing.writeHead(reply.status, { "content-type": reply.type }).end(reply.body);
  };
  const server = createServer((incoming, outgoing) => {
    answer(incoming, outgoing).catch(() => incoming.socket.destroy());
  });
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("no port");
  return {
    url: `http://127.0.0.1:${address.port}`,
    fail: ({ path, how, times = 1 }) => void faults.push({ path, how, left: times }),
    heal: () => void faults.splice(0),
    seen,
    close: async () => {
      server.closeAllConnections();
      await new Promise((done) => server.close(done));
    },
  };
};

async function read(incoming: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of incoming) chunks.push(z.instanceof(Buffer).parse(chunk));
  return Buffer.concat(chunks);
}

async function pass(
  behind: string,
  incoming: IncomingMessage,
  body: Buffer,
): Promise<{ status: number; type: string; body: Buffer }> {
  const { hostname, port } = new URL(behind);
  const { method = "GET", url: path = "/" } = incoming;
  const headers = { "content-type": "application/json", "content-length": String(body.length) };
  return new Promise((done, failed) => {
    const upstream = httpRequest({ hostname, port, method, path, headers }, (response) => {
      const type = response.headers["content-type"] ?? "application/json";
      read(response)
        .then((text) => done({ status: response.statusCode ?? 502, type, body: text }))
        .catch(failed);
    });
    upstream.once("error", failed);
    upstream.end(body);
  });
}
