import { z } from "zod";
import { PayloadEvent } from "./schema.ts";

/** One complete line of events.jsonl, read. Total: what cannot be read is kept as it is under the type `unreadable`. */
export interface PayloadLine {
  readonly type: string;
  readonly at: string | null;
  readonly attempt: number | null;
  readonly data: unknown;
  readonly metrics: readonly { readonly name: string; readonly step: number; readonly value: number }[];
}

/** Never throws, whatever the line holds. */
export const readPayloadLine = (line: string): PayloadLine => {
  const parsed = PayloadEvent.safeParse(asJson(line));
  if (!parsed.success) {
    return {
      type: "unreadable",
      at: null,
      attempt: null,
      data: { line: line.slice(0, LONGEST_KEPT) },
      metrics: [],
    };
  }
  const { v: _version, at, attempt, type, ...data } = parsed.data;
  return { type, at, attempt, data, metrics: metricsOf(type, data) };
};

const LONGEST_KEPT = 2000;

// Python's json writes NaN and Infinity, which JSON does not know: the word is kept, no number is made of it.
function asJson(line: string): unknown {
  for (const text of [line, line.replace(/([:[,]\s*)(NaN|-?Infinity)(?=\s*[,}\]])/g, '$1"$2"')]) {
    try {
      return JSON.parse(text) as unknown;
    } catch {
      continue;
    }
  }
  return undefined;
}

const Step = z.object({ step: z.int().nonnegative() });

/** Fields of a `step` event that become metrics, and under which names. */
const STEP_METRICS: Readonly<Record<string, string>> = {
  loss: "train/loss",
  learningRate: "train/learning_rate",
  gradNorm: "train/grad_norm",
  secondsPerStep: "train/seconds_per_step",
  epoch: "train/epoch",
};

function metricsOf(type: string, data: Readonly<Record<string, unknown>>): PayloadLine["metrics"] {
  return namedValues(type, data).flatMap(({ name, step, value }) =>
    typeof value === "number" && Number.isFinite(value) ? [{ name, step, value }] : [],
  );
}

/** What an event says of metrics by their names, as it stands there: a number, one of Python's words for none, or anything. */
export const namedValues = (
  type: string,
  data: Readonly<Record<string, unknown>>,
): readonly { readonly name: string; readonly step: number; readonly value: unknown }[] => {
  const at = Step.safeParse(data);
  if (!at.success) return [];
  const { step } = at.data;
  if (type === "step") {
    return Object.entries(STEP_METRICS).map(([field, name]) => ({ name, step, value: data[field] }));
  }
  const { split } = data;
  if (type !== "eval" || typeof split !== "string") return [];
  return ["loss", "tokens"].map((field) => ({ name: `${split}/${field}`, step, value: data[field] }));
};
