import type { z } from "zod";
import type { Clock } from "../../core/clock.ts";
import { messageOf, systemCode } from "../../core/errors.ts";
import { MlflowError } from "./error.ts";
import { refusal, REDIRECTED } from "./refusal.ts";
import type { MlflowTarget } from "./settings.ts";

/** What a server is asked with. */
export interface MlflowWorld {
  readonly fetch: typeof fetch;
  readonly clock: Clock;
  readonly signal?: AbortSignal | undefined;
  /** Milliseconds for one try; default 10,000. */
  readonly timeout?: number;
}

export interface Ask<Schema extends z.ZodType> {
  readonly method: "GET" | "POST";
  /** Below the address of the server, e.g. `api/2.0/mlflow/runs/create`. */
  readonly path: string;
  readonly query?: Readonly<Record<string, string>>;
  readonly body?: unknown;
  readonly schema: Schema;
  /** `any`: asking twice is as good as once; `undone`: again only where the first is known to have had no effect. */
  readonly again: "any" | "undone";
}

const TRIES = 3;
const LONGEST_WAIT = 10_000;

/**
 * Asks the server, within a deadline for each try; up to three when it is busy, fails or cuts the connection. MlflowErrors
 * `MLFLOW_ABSENT`, `MLFLOW_SILENT`, `MLFLOW_BUSY`, `MLFLOW_REFUSED`, `MLFLOW_DENIED`, `MLFLOW_FOREIGN`, `MLFLOW_REDIRECTS`. Nothing that was
 * sent stands in an error, and nothing of a 401 or 403.
 */
export const ask = async <Schema extends z.ZodType>(
  target: MlflowTarget,
  world: MlflowWorld,
  request: Ask<Schema>,
): Promise<z.output<Schema>> => {
  for (let attempt = 1; ; attempt++) {
    try {
      return await once(target, world, request);
    } catch (error) {
      world.signal?.throwIfAborted();
      if (!(error instanceof MlflowError) || error.kind !== "silent" || attempt >= TRIES) throw error;
      if (error.maybeDone && request.again === "undone") throw error;
      // Whoever is not there, or asks for a long wait, is asked again by whoever has the time.
      if (error.code === "MLFLOW_ABSENT" || error.wait > LONGEST_WAIT) throw error;
      await world.clock.sleep(Math.max(error.wait, 250 * 2 ** attempt), world.signal);
    }
  }
};

async function once<Schema extends z.ZodType>(
  target: MlflowTarget,
  world: MlflowWorld,
  { method, path, query = {}, body, schema }: Ask<Schema>,
): Promise<z.output<Schema>> {
  const search = new URLSearchParams(query).toString();
  const deadline = AbortSignal.timeout(world.timeout ?? 10_000);
  let response: Response;
  let text: string;
  try {
    response = await world.fetch(`${target.uri}/${path}${search === "" ? "" : `?${search}`}`, {
      method,
      headers: {
        accept: "application/json",
        ...(body === undefined ? {} : { "content-type": "application/json" }),
        ...(target.authorization === null ? {} : { authorization: target.authorization }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      // A credential is for the server that was named, and a POST that is sent elsewhere becomes a GET.
      redirect: "manual",
      signal: world.signal === undefined ? deadline : AbortSignal.any([deadline, world.signal]),
    });
    text = await response.text();
  } catch (error) {
    throw silent(target, error, deadline.aborted);
  }
  if (REDIRECTED.has(response.status) || !response.ok) throw refusal(target, response, text);
  const parsed = schema.safeParse(asJson(text));
  if (parsed.success) return parsed.data;
  throw new MlflowError(
    "MLFLOW_FOREIGN",
    `${target.uri} answers ${path}, but not as MLflow does`,
    { kind: "silent", maybeDone: true },
    { hint: "check the tracking URI; a login page or a proxy may stand in between" },
  );
}

// Nothing of it was sent.
const NOT_SENT = new Set(["ECONNREFUSED", "ENOTFOUND", "EAI_AGAIN", "EHOSTUNREACH", "ENETUNREACH"]);

function silent({ uri, mask }: MlflowTarget, error: unknown, late: boolean): MlflowError {
  const cause = error instanceof Error ? error.cause : undefined;
  const code = systemCode(cause) ?? systemCode(error) ?? "";
  const why = late ? "no answer in time" : code === "" ? messageOf(cause ?? error) : code;
  const unsent = NOT_SENT.has(code);
  return new MlflowError(
    unsent ? "MLFLOW_ABSENT" : "MLFLOW_SILENT",
    `MLflow at ${uri} does not answer: ${mask(why)}`,
    {
      kind: "silent",
      maybeDone: !unsent,
    },
  );
}

function asJson(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    // A text of its own, e.g. a version.
    return text;
  }
}
