import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { sha256 } from "../../../src/core/hash.ts";

/** How the hub answers for a file, once for each request of it, in order; afterwards it behaves. */
export type Mood = "cut" | "busy" | "wrong" | "whole" | "hang-up" | "denied" | "gone";

export interface FakeHub {
  readonly address: string;
  readonly requests: {
    readonly path: string;
    readonly range: string | undefined;
    readonly token: string | undefined;
  }[];
  close(): Promise<void>;
}

/**
 * A model hub on 127.0.0.1 that misbehaves as it is told. Large files are redirected to storage on another port, as the real one does.
 */
export const startHub = async (
  files: Readonly<Record<string, string>>,
  moods: Readonly<Record<string, readonly Mood[]>> = {},
): Promise<FakeHub> => {
  const requests: FakeHub["requests"] = [];
  const left = new Map(Object.entries(moods).map(([name, list]) => [name, [...list]]));
  const note = ({ url = "", headers }: IncomingMessage): void => {
    requests.push({ path: url, range: headers.range, token: headers.authorization });
  };
  const storage = await listen((request, response) => {
    note(request);
    const name = decodeURIComponent((request.url ?? "").slice("/store/".length));
    send(request, response, files[name] ?? "", left.get(name)?.shift());
  });
  const hub = await listen((request, response) => {
    note(request);
    const path = request.url ?? "";
    if (path.startsWith("/api/models/")) {
      const siblings = Object.entries(files).map(([rfilename, text]) => ({
        rfilename,
        size: Buffer.byteLength(text),
        ...(text.length > 1000 ? { lfs: { sha256: sha256(text), size: Buffer.byteLength(text) } } : {}),
      }));
      answer(response, 200, JSON.stringify({ siblings }));
      return;
    }
    const name = decodeURIComponent(/^\/lab\/model\/resolve\/rev1\/(.*)$/.exec(path)?.[1] ?? "");
    const text = files[name];
    if (text === undefined) answer(response, 404, "");
    else if (text.length > 1000) {
      response.writeHead(302, { location: `${storage.address}/store/${encodeURIComponent(name)}` }).end();
    } else send(request, response, text, left.get(name)?.shift());
  });
  return {
    address: hub.address,
    requests,
    close: async () => {
      await Promise.all([hub.close(), storage.close()]);
    },
  };
};

const REFUSALS: Readonly<Partial<Record<Mood, number>>> = { busy: 503, denied: 401, gone: 404 };

function send(request: IncomingMessage, response: ServerResponse, text: string, mood?: Mood): void {
  const start = Number(/^bytes=(\d+)-/.exec(request.headers.range ?? "")?.[1] ?? 0);
  const bytes = Buffer.from(text);
  const status = mood === undefined ? undefined : REFUSALS[mood];
  if (status !== undefined) answer(response, status, "", { "retry-after": "1" });
  else if (mood === "hang-up") request.socket.destroy();
  else if (mood === "wrong") answer(response, 200, Buffer.from(text.replaceAll(/./g, "x")));
  else if (mood === "cut") {
    const rest = bytes.subarray(start);
    response.writeHead(start > 0 ? 206 : 200, headersOf(bytes, start));
    response.write(rest.subarray(0, Math.ceil(rest.length / 2)), () => response.destroy());
  } else if (start > 0 && mood !== "whole") {
    response.writeHead(206, headersOf(bytes, start)).end(bytes.subarray(start));
  } else answer(response, 200, bytes);
}

function headersOf(bytes: Buffer, start: number): Record<string, string> {
  const length = { "content-length": String(bytes.length - start) };
  return start > 0
    ? { ...length, "content-range": `bytes ${start}-${bytes.length - 1}/${bytes.length}` }
    : length;
}

function answer(
  response: ServerResponse,
  code: number,
  body: string | Buffer,
  headers: Record<string, string> = {},
): void {
  response.writeHead(code, { "content-length": String(Buffer.byteLength(body)), ...headers }).end(body);
}

async function listen(
  handle: (request: IncomingMessage, response: ServerResponse) => void,
): Promise<{ readonly address: string; close(): Promise<void> }> {
  const server: Server = createServer(handle);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const bound = server.address();
  if (bound === null || typeof bound === "string") throw new Error("no port");
  return {
    address: `http://127.0.0.1:${bound.port}`,
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
