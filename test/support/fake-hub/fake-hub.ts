import { createServer, type IncomingMessage, type Server } from "node:http";
import { once } from "node:events";
import { z } from "zod";
import { apiRoute } from "./api-routes.ts";
import { faultScript, respond, type Answer, type FaultScript } from "./faults.ts";
import { failure, type HubState, type Received } from "./hub-state.ts";
import { newRepository, type Repository } from "./repository.ts";
import { fileRoute, storageRoute } from "./storage-routes.ts";

export const HUB_TOKEN = "hf_correctHorseBatteryStaple";

/**
 * A Hub of our own on 127.0.0.1, as strict as the real one or stricter: it checks the SHA-256 of what it gets, the parent of
 * every commit, the token, the form of each message, and that no token reaches its storage, which is another origin.
 */
export interface FakeHub {
  readonly url: string;
  readonly state: HubState;
  readonly faults: FaultScript;
  /** `METHOD /path?query` of every request, in order; those of the storage begin with `storage `. */
  readonly requests: string[];
  /** What no client may do, in words: a test looks here in the end. */
  readonly offences: string[];
  /** A repository that stands there already. */
  repository(id: string, options?: { readonly isPrivate?: boolean }): Repository;
  stop(): Promise<void>;
}

export const startFakeHub = async (): Promise<FakeHub> => {
  const state: HubState = {
    url: "",
    storageUrl: "",
    repositories: new Map(),
    pageSize: 1000,
    relativeLinks: false,
    regularBytes: 10_000_000,
    filesPerCommit: 50,
    multipartAbove: 100_000_000,
    partBytes: 20_000_000,
    parts: new Map(),
  };
  const faults = faultScript();
  const [requests, offences]: [string[], string[]] = [[], []];
  const route = (isStorage: boolean, received: Received): Answer => {
    try {
      const answer = isStorage
        ? storageRoute(state, received)
        : (apiRoute(state, received) ?? fileRoute(state, received));
      if (answer) return answer;
      offences.push(`unknown: ${received.method} ${received.url.pathname}`);
    } catch (error) {
      offences.push(
        `${received.method} ${received.url.pathname}: ${error instanceof z.ZodError ? z.prettifyError(error) : String(error)}`,
      );
      return failure(400, null, "Bad request");
    }
    return failure(404, null, "Sorry, we can't find the page you are looking for.");
  };
  const serve = async (isStorage: boolean): Promise<Server> => {
    const server = createServer((request, response) => {
      const line = `${isStorage ? "storage " : ""}${request.method} ${request.url}`;
      requests.push(line);
      const misdeed = faults.take(line);
      const handle = async (): Promise<Answer> => {
        const received = await receive(request, isStorage ? state.storageUrl : state.url);
        if (isStorage && request.headers.authorization) offences.push(`a token came to the storage: ${line}`);
        const given = request.headers.authorization;
        if (given !== undefined && given !== `Bearer ${HUB_TOKEN}` && !isStorage)
          return failure(401, null, `Invalid credentials: ${given}`);
        return route(isStorage, received);
      };
      respond(request, response, misdeed, handle).catch((error: unknown) => {
        if (!(error instanceof CutRequest) && !request.destroyed) offences.push(`${line}: ${String(error)}`);
        request.socket.destroy();
      });
    });
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    return server;
  };
  const servers = [await serve(false), await serve(true)] as const;
  state.url = addressOf(servers[0]);
  state.storageUrl = addressOf(servers[1]);
  return {
    url: state.url,
    state,
    faults,
    requests,
    offences,
    repository: (id, { isPrivate = true } = {}) => {
      const repository = newRepository(id, isPrivate);
      state.repositories.set(id, repository);
      return repository;
    },
    stop: async () => {
      for (const server of servers) {
        server.closeAllConnections();
        server.close();
        await once(server, "close");
      }
    },
  };
};

class CutRequest extends Error {}

function addressOf(server: Server): string {
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("the server has no port");
  return `http://127.0.0.1:${address.port}`;
}

async function receive(request: IncomingMessage, base: string): Promise<Received> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) if (chunk instanceof Buffer) chunks.push(chunk);
  const body = Buffer.concat(chunks);
  const { length } = { length: Number(request.headers["content-length"] ?? body.length) };
  // A client that was killed half-way has asked for nothing.
  if (length !== body.length) throw new CutRequest();
  return {
    method: request.method ?? "GET",
    url: new URL(request.url ?? "/", base),
    body,
    authorized: request.headers.authorization === `Bearer ${HUB_TOKEN}`,
    header: (name) => {
      const value = request.headers[name];
      return Array.isArray(value) ? value.join(", ") : value;
    },
    text: () => body.toString("utf8"),
  };
}
