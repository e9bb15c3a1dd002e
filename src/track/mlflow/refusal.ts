import { z } from "zod";
import { MlflowError } from "./error.ts";
import type { MlflowTarget } from "./settings.ts";

export const REDIRECTED: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);

const Said = z.object({ error_code: z.string().optional(), message: z.string().optional() });

/** An answer that is no success, in words. Masked before it is cut: half a key is not recognised. */
export const refusal = (target: MlflowTarget, { status, headers }: Response, text: string): MlflowError => {
  const { uri } = target;
  if (REDIRECTED.has(status)) {
    return new MlflowError(
      "MLFLOW_REDIRECTS",
      `MLflow at ${uri} sends callers on to another address`,
      { kind: "refused" },
      { hint: `name that address as tracking URI: ${elsewhere(headers)}` },
    );
  }
  if (status === 401 || status === 403) {
    return new MlflowError(
      "MLFLOW_DENIED",
      `MLflow at ${uri} does not let us in (${status})`,
      { kind: "refused" },
      {
        hint: "set MLFLOW_TRACKING_USERNAME and MLFLOW_TRACKING_PASSWORD, or MLFLOW_TRACKING_TOKEN, in the environment",
      },
    );
  }
  const { error_code: word = null, message = "" } = saidIn(text);
  const said = target.mask(message).replaceAll(/\s+/g, " ").slice(0, 300);
  const words = `${status}${word === null ? "" : ` ${word}`}${said === "" ? "" : `: ${said}`}`;
  if (status === 408 || status === 429 || status >= 500) {
    return new MlflowError("MLFLOW_BUSY", `MLflow at ${uri} cannot answer now (${words})`, {
      kind: "silent",
      maybeDone: status !== 429 && status !== 503,
      word,
      wait: retryAfter(headers.get("retry-after")),
    });
  }
  return new MlflowError("MLFLOW_REFUSED", `MLflow at ${uri} refuses (${words})`, { kind: "refused", word });
};

function saidIn(text: string): z.output<typeof Said> {
  try {
    return Said.parse(JSON.parse(text));
  } catch {
    return {};
  }
}

// A query may hold what a login server needs.
const elsewhere = (headers: Headers): string =>
  (headers.get("location") ?? "unknown").replace(/[?#].*$/s, "").replace(/\/\/[^/]*@/, "//");

function retryAfter(header: string | null): number {
  const seconds = Number(header ?? "");
  return Number.isFinite(seconds) && seconds > 0 ? seconds * 1000 : 0;
}
