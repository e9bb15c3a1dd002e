import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { onTestFinished } from "vitest";
import { z } from "zod";

const Request = z.object({ inputs: z.array(z.string()), truncate: z.literal(true) });

/** What the endpoint does with its n-th request, counted from 0; undefined: answers as it should. */
export type Mischief = (request: number) => ((response: ServerResponse, texts: string[]) => void) | undefined;

export interface FakeEndpoint {
  readonly url: string;
  /** Of every request: its texts and its authorization header. */
  readonly requests: { readonly texts: string[]; readonly authorization: string | undefined }[];
  /** Most requests that were open at once. */
  readonly most: () => number;
}

/** A server like text-embeddings-inference: the length of a text and 1 are its vector. Ends with the running test. */
export const startEndpoint = async (mischief: Mischief = () => undefined): Promise<FakeEndpoint> => {
  const requests: { texts: string[]; authorization: string | undefined }[] = [];
  const waiting = { now: 0, most: 0 };
  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    waiting.now += 1;
    waiting.most = Math.max(waiting.most, waiting.now);
    response.on("close", () => (waiting.now -= 1));
    let body = "";
    for await (const part of request) body += String(part);
    const { inputs } = Request.parse(JSON.parse(body));
    const number = requests.push({ texts: inputs, authorization: request.headers.authorization }) - 1;
    const act = mischief(number);
    if (act !== undefined) act(response, inputs);
    // Later ones first, so that an order that is only luck is seen.
    else setTimeout(() => sendJson(response, inputs.map(vectorOf)), Math.max(0, 60 - 10 * number));
  };
  const server = createServer((request, response) => void answer(request, response));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  const address = server.address();
  const port = typeof address === "object" ? address?.port : undefined;
  return { url: `http://127.0.0.1:${port}/embed`, requests, most: () => waiting.most };
};

export const vectorOf = (text: string): number[] => [text.length, 1];

export const sendJson = (response: ServerResponse, value: unknown): void => {
  response.setHeader("content-type", "application/json").end(JSON.stringify(value));
};
