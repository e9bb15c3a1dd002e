import { z } from "zod";
import { RemoteError, UnderstudyError } from "../../core/errors.ts";
import { postJson, withoutUserinfo, type HttpWorld } from "../../core/http.ts";
import type { Embedder } from "./embedder.ts";
import { unitVector } from "./unit-vector.ts";

export interface EndpointEmbedderOptions {
  /** Where texts are POSTed, exactly. */
  readonly url: string;
  /** What is served there, for the lock: nobody can check it from here. Another state of the model needs another revision. */
  readonly model: string;
  readonly revision: string;
  readonly dtype: string;
  readonly pooling: string;
  readonly maxTokens: number | null;
  readonly dimension: number;
  /** Read at each call; it is kept nowhere. */
  readonly token?: () => string;
  /** Texts of one request. Default 32. */
  readonly batch?: number;
  /** Requests at once. Default 4. */
  readonly concurrency?: number;
  /** Seconds for one attempt, its reply included. Default 60. */
  readonly seconds?: number;
  /** Attempts for one request. Default 6. */
  readonly attempts?: number;
}

const Vectors = z.array(z.array(z.number()));

/**
 * Asks an HTTP endpoint (text-embeddings-inference or alike) through @huggingface/inference. Its own retry would ask a busy
 * server without a pause, so it is off and `postJson` waits instead. RemoteErrors of `postJson`, `EMBEDDING_REPLY` for an
 * answer that is none, and those of `unitVector`. The first failure ends the other requests of a call.
 */
export const endpointEmbedder = (options: EndpointEmbedderOptions, world: HttpWorld): Embedder => {
  const { model, revision, dtype, pooling, maxTokens, dimension } = options;
  const where = withoutUserinfo(options.url).replace(/\?.*$/s, "");
  return {
    fingerprint: {
      engine: "endpoint-1",
      model,
      revision,
      weightsSha256: null,
      filesSha256: null,
      dtype,
      pooling,
      maxTokens,
      dimension,
    },
    close: async () => undefined,
    embed: async (texts, signal) => {
      const batch = options.batch ?? 32;
      const token = texts.length === 0 ? undefined : options.token?.();
      const failed = new AbortController();
      const stop = signal === undefined ? failed.signal : AbortSignal.any([signal, failed.signal]);
      const call = { options, world, stop, where, token };
      const vectors = Array.from({ length: texts.length }, () => NONE);
      let next = 0;
      const worker = async (): Promise<void> => {
        try {
          while (next < texts.length) {
            const start = next;
            next += batch;
            const raw = await ask(texts.slice(start, start + batch), call);
            for (const [index, each] of raw.entries())
              vectors[start + index] = unitVector(each, dimension, where);
          }
        } catch (error) {
          // The first failure is the one to tell; those of the others only follow from it.
          failed.abort(error);
        }
      };
      await Promise.all(Array.from({ length: options.concurrency ?? 4 }, worker));
      signal?.throwIfAborted();
      failed.signal.throwIfAborted();
      return vectors;
    },
  };
};

const NONE: Float32Array = new Float32Array();

interface Call {
  readonly options: EndpointEmbedderOptions;
  readonly world: HttpWorld;
  readonly stop: AbortSignal;
  readonly where: string;
  readonly token: string | undefined;
}

async function ask(texts: readonly string[], call: Call): Promise<number[][]> {
  const { where, token } = call;
  let reply: unknown;
  try {
    const { featureExtraction } = await import("@huggingface/inference");
    reply = await featureExtraction(
      {
        endpointUrl: call.options.url,
        inputs: [...texts],
        // Over-long texts are cut by the server: without this some refuse them.
        truncate: true,
        ...(token === undefined ? {} : { accessToken: token }),
      },
      { fetch: patient(call), retry_on_error: false },
    );
  } catch (error) {
    call.stop.throwIfAborted();
    if (error instanceof UnderstudyError && error.code !== "JSON_INVALID") throw error;
    throw unusable(
      `${where} answered with something else than JSON with a vector of finite numbers for each text`,
      error,
    );
  }
  const parsed = Vectors.safeParse(reply);
  if (!parsed.success) {
    const deeper = z.array(z.array(z.array(z.unknown()))).safeParse(reply).success;
    throw deeper
      ? unusable(`${where} answered with a vector for each token; one for each text is needed`)
      : unusable(
          `${where} answered with something else than JSON with a vector of finite numbers for each text`,
        );
  }
  if (parsed.data.length !== texts.length)
    throw unusable(`${where} answered ${parsed.data.length} vectors for ${texts.length} texts`);
  return parsed.data;
}

// A `fetch` that tries again as `postJson` does, each attempt with its own deadline, and gives back a whole reply.
function patient({ options, world, stop }: Call): typeof fetch {
  return async (_url, init) => {
    const { raw } = await postJson(
      {
        url: options.url,
        headers: Object.fromEntries(new Headers(init?.headers ?? {})),
        json: z.string().parse(init?.body),
        schema: z.unknown(),
        timeout: (options.seconds ?? 60) * 1000,
        attempts: options.attempts ?? 6,
        signal: stop,
      },
      world,
    );
    return new Response(raw, { headers: { "content-type": "application/json" } });
  };
}

function unusable(message: string, cause?: unknown): RemoteError {
  return new RemoteError("EMBEDDING_REPLY", message, {
    hint: "is this the address of an embedding model? what was embedded before is kept",
    cause,
  });
}
