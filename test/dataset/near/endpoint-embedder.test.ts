import { describe, expect, it } from "vitest";
import type { Clock } from "../../../src/core/clock.ts";
import { RemoteError } from "../../../src/core/errors.ts";
import { secretsFrom } from "../../../src/core/secrets.ts";
import {
  endpointEmbedder,
  type Embedder,
  type EndpointEmbedderOptions,
} from "../../../src/dataset/near/index.ts";
import { unitVector } from "../../../src/dataset/near/unit-vector.ts";
import { sendJson, startEndpoint, vectorOf, type FakeEndpoint } from "./fake-endpoint.ts";

const TOKEN = "hf_abcdefghijklmnop";
const texts = Array.from({ length: 11 }, (_, index) => "x".repeat(index + 1));
const expected = texts.map((text) => unitVector(vectorOf(text), 2, "the test"));

/** An embedder whose waits between attempts are only written down. */
const embedderOf = (
  { url }: { readonly url: string },
  options: Partial<EndpointEmbedderOptions> = {},
): Embedder & { readonly waits: number[] } => {
  const waits: number[] = [];
  const clock: Clock = {
    now: () => 0,
    sleep: async (milliseconds, signal) => {
      signal?.throwIfAborted();
      waits.push(milliseconds);
    },
  };
  const secrets = secretsFrom({ HF_TOKEN: TOKEN });
  const embedder = endpointEmbedder(
    {
      url,
      model: "Org/Model",
      revision: "abc",
      dtype: "float16",
      pooling: "mean",
      maxTokens: 256,
      dimension: 2,
      token: () => secrets.read("HF_TOKEN"),
      batch: 3,
      concurrency: 2,
      ...options,
    },
    { fetch, clock, mask: (text) => secrets.mask(text) },
  );
  return { ...embedder, waits };
};

const failure = async (
  endpoint: FakeEndpoint,
  options: Partial<EndpointEmbedderOptions> = {},
): Promise<RemoteError> => {
  const error: unknown = await embedderOf(endpoint, options)
    .embed(texts)
    .catch((thrown: unknown) => thrown);
  if (!(error instanceof RemoteError)) throw new Error(`it did not fail as it should: ${String(error)}`);
  expect(JSON.stringify([error.message, error, String(error.cause)])).not.toContain(TOKEN);
  return error;
};

describe("an endpoint", () => {
  it("is asked in parts, a few at once, and the vectors come back in the order of the texts", async () => {
    const endpoint = await startEndpoint();
    expect(await embedderOf(endpoint).embed(texts)).toEqual(expected);
    expect(endpoint.requests.map((request) => request.texts.length).toSorted((a, b) => a - b)).toEqual([
      2, 3, 3, 3,
    ]);
    expect(endpoint.most()).toBe(2);
    expect(new Set(endpoint.requests.map(({ authorization }) => authorization))).toEqual(
      new Set([`Bearer ${TOKEN}`]),
    );
  });

  it("is not asked without texts, nor for a token then", async () => {
    const endpoint = await startEndpoint();
    const token = (): string => {
      throw new Error("asked for");
    };
    expect(await embedderOf(endpoint, { token }).embed([])).toEqual([]);
    await expect(embedderOf(endpoint, { token }).embed(["a"])).rejects.toThrow("asked for");
    expect(endpoint.requests).toEqual([]);
  });

  it("is known by what the user says of it, never by its address", async () => {
    const { fingerprint } = embedderOf({ url: "http://user:secret@host/embed?key=1" });
    expect(fingerprint).toMatchObject({
      engine: "endpoint-1",
      model: "Org/Model",
      revision: "abc",
      dimension: 2,
    });
    expect(JSON.stringify(fingerprint)).not.toMatch(/host|secret|key/);
  });
});

describe("an endpoint that is busy", () => {
  it("is given the time that it asks for, and asked no more often than that", async () => {
    const endpoint = await startEndpoint((number) =>
      number < 2 ? (response) => response.writeHead(429, { "retry-after": "7" }).end("slow down") : undefined,
    );
    const embedder = embedderOf(endpoint, { concurrency: 1 });
    expect(await embedder.embed(texts)).toEqual(expected);
    expect(embedder.waits).toEqual([7000, 7000]);
    expect(endpoint.requests).toHaveLength(6);
  });

  it.each([500, 502, 503, 504])("with %i is asked again after growing pauses", async (status) => {
    const endpoint = await startEndpoint((number) =>
      number < 3 ? (response) => response.writeHead(status).end() : undefined,
    );
    const embedder = embedderOf(endpoint, { concurrency: 1 });
    expect(await embedder.embed(texts)).toEqual(expected);
    expect(embedder.waits).toEqual([1000, 2000, 4000]);
  });

  it("for ever is given up after so many attempts", async () => {
    const endpoint = await startEndpoint(() => (response) => response.writeHead(503).end("no capacity"));
    expect(await failure(endpoint, { concurrency: 1, attempts: 4 })).toMatchObject({
      code: "HTTP_STATUS",
      message: `${endpoint.url} answered 503: no capacity`,
    });
    expect(endpoint.requests).toHaveLength(4);
  });

  it("and cuts the connection, before or within its answer, is asked again", async () => {
    const endpoint = await startEndpoint((number) => {
      if (number === 0) return (response) => response.destroy();
      if (number === 1)
        return (response) => {
          response.writeHead(200, { "content-type": "application/json", "content-length": "1000" });
          response.write("[[1,");
          setTimeout(() => response.destroy(), 20);
        };
      return undefined;
    });
    expect(await embedderOf(endpoint, { concurrency: 1 }).embed(texts)).toEqual(expected);
  });

  it("and hangs, before or within its answer, is asked again after its deadline", async () => {
    const endpoint = await startEndpoint((number) => {
      if (number === 0) return () => undefined;
      if (number === 1) return (response) => void response.writeHead(200).write("[[");
      return undefined;
    });
    expect(await embedderOf(endpoint, { concurrency: 1, seconds: 0.2 }).embed(texts)).toEqual(expected);
    expect(endpoint.requests).toHaveLength(6);
  });
});

describe("an endpoint that answers something else", () => {
  it.each<[string, unknown, string]>([
    ["too few vectors", [[1, 2]], "answered 1 vectors for 3 texts"],
    ["too many vectors", Array.from({ length: 4 }, () => [1, 2]), "answered 4 vectors for 3 texts"],
    [
      "another dimension",
      [
        [1, 2],
        [1, 2],
        [1, 2, 3],
      ],
      "gave a vector of 3 numbers; 2 were expected",
    ],
    [
      "zeros",
      [
        [0, 0],
        [1, 2],
        [1, 2],
      ],
      "gave a vector of zeros",
    ],
    [
      "null for a number",
      [
        [1, null],
        [1, 2],
        [1, 2],
      ],
      "something else than JSON with a vector of finite",
    ],
    [
      "words",
      [
        ["a", "b"],
        [1, 2],
        [1, 2],
      ],
      "something else than JSON with a vector of finite",
    ],
    ["a flat list", [1, 2, 3], "something else than JSON with a vector of finite"],
    ["an object", { embeddings: [] }, "something else than JSON with a vector of finite"],
    [
      "a vector for each token",
      Array.from({ length: 3 }, () => [
        [1, 2],
        [3, 4],
      ]),
      "a vector for each token; one for each text",
    ],
  ])("%s", async (_, value, message) => {
    const endpoint = await startEndpoint(() => (response) => sendJson(response, value));
    const told = await failure(endpoint, { concurrency: 1 });
    expect(told.code).toMatch(/^EMBEDDING_(REPLY|INVALID)$/);
    expect(told.message).toContain(message);
    expect(told.message).toContain(endpoint.url);
    expect(told.hint).toBeTypeOf("string");
    expect(endpoint.requests).toHaveLength(1);
  });

  it.each([
    ["NaN, which is no JSON", "[[NaN, 1], [1, 2], [1, 2]]", "application/json"],
    ["Infinity by a large number", "[[1e999, 1], [1, 2], [1, 2]]", "application/json"],
    ["a page that calls itself JSON", "<html>welcome</html>", "application/json"],
    ["a page", "<html>please log in</html>", "text/html"],
    ["nothing", "", "application/json"],
  ])("%s", async (_, body, type) => {
    const endpoint = await startEndpoint(
      () => (response) => void response.writeHead(200, { "content-type": type }).end(body),
    );
    expect(await failure(endpoint, { concurrency: 1 })).toMatchObject({ code: "EMBEDDING_REPLY" });
    expect(endpoint.requests).toHaveLength(1);
  });

  it("a refusal ends at once, tells no token back, and stops the other requests", async () => {
    const endpoint = await startEndpoint(
      (number) => (response) =>
        void (number === 0
          ? response.writeHead(413).end(`too long, said ${TOKEN}`)
          : setTimeout(() => response.end("late"), 60_000).unref()),
    );
    expect(await failure(endpoint, { concurrency: 2 })).toMatchObject({
      code: "HTTP_STATUS",
      message: `${endpoint.url} answered 413: too long, said [HF_TOKEN]`,
    });
    expect(endpoint.requests.length).toBeLessThanOrEqual(2);
  });

  it("stops at once when it is told to", async () => {
    const stop = new AbortController();
    const endpoint = await startEndpoint(() => () => stop.abort(new Error("enough")));
    await expect(embedderOf(endpoint).embed(texts, stop.signal)).rejects.toThrow("enough");
  });
});
