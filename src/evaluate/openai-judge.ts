import { z } from "zod";
import { RemoteError, UnderstudyError } from "../core/errors.ts";
import { type HttpWorld, postJson } from "../core/http.ts";
import type { Secrets } from "../core/secrets.ts";
import { judgePrompt } from "./judge-prompt.ts";
import type { Judge, JudgeRequest } from "./judge.ts";
import { parseVerdict } from "./parse-verdict.ts";
import type { MetricName, Verdict } from "./schema.ts";

export interface OpenAiJudgeSettings {
  /** Up to and including the version: `https://judge.example/v1`. */
  readonly baseUrl: string;
  readonly model: string;
  /** The name that the server must answer with; by default `model`. Aliases of providers differ from what they serve. */
  readonly servedAs?: string;
  /** Name of the secret that holds the key; null where the server wants none. */
  readonly keySecret: string | null;
  /** Milliseconds for one attempt. */
  readonly timeout: number;
  readonly attempts: number;
  /** Of the body as it is sent, in UTF-8. Larger requests are not sent: `unscored{too_large}`. */
  readonly maxRequestBytes: number;
}

export interface JudgeWorld extends HttpWorld {
  readonly secrets: Secrets;
}

const Reply = z.object({
  model: z.string(),
  choices: z
    .array(
      z.object({
        finish_reason: z.string().nullish(),
        message: z.object({ content: z.string().nullable(), refusal: z.string().nullish() }),
      }),
    )
    .min(1),
});

/**
 * A judge behind an OpenAI-compatible chat endpoint that takes `input_audio` (raw base64 WAV): one call per metric,
 * temperature 0. RemoteError `JUDGE_REROUTED` when another model answers, `HTTP_STATUS` when the server refuses the request
 * for good (a wrong key would be wrong in every call), `HTTP_RETRY_LATER` when it asks for a wait of more than minutes.
 * Everything else that fails is an unscored verdict.
 */
export const openAiJudge = (settings: OpenAiJudgeSettings, world: JudgeWorld): Judge => ({
  identity: { status: "used", model: settings.servedAs ?? settings.model },
  judge: async (request) => {
    const verdicts: Verdict[] = [];
    // One after the other: the calls share a prefix that servers cache.
    for (const metric of request.metrics) verdicts.push(await judgeOne(request, metric, { settings, world }));
    return verdicts;
  },
});

interface Call {
  readonly settings: OpenAiJudgeSettings;
  readonly world: JudgeWorld;
}

async function judgeOne(request: JudgeRequest, metric: MetricName, call: Call): Promise<Verdict> {
  const unscored = (reason: string, raw: string | null): Verdict => ({
    status: "unscored",
    metric,
    reason,
    raw,
  });
  if (request.test.length === 0 || request.reference.length === 0) return unscored("missing_audio", null);
  const json = JSON.stringify(bodyOf(request, metric, call.settings.model));
  if (Buffer.byteLength(json) > call.settings.maxRequestBytes) return unscored("too_large", null);
  const answered = await send({ json, signal: request.signal }, call);
  if (answered.status === "failed") return unscored(answered.reason, answered.raw);
  const reply = Reply.safeParse(answered.reply);
  if (!reply.success) return unscored("unreadable", answered.raw);
  refuseOtherModel(reply.data.model, call.settings);
  return verdictOf(request, metric, { reply: reply.data, raw: answered.raw });
}

function verdictOf(
  request: JudgeRequest,
  metric: MetricName,
  { reply, raw }: { readonly reply: z.output<typeof Reply>; readonly raw: string },
): Verdict {
  const unscored = (reason: string): Verdict => ({ status: "unscored", metric, reason, raw });
  const choice = reply.choices[0];
  if (choice === undefined) return unscored("unreadable");
  if (choice.finish_reason === "content_filter" || choice.message.refusal) return unscored("blocked");
  if (choice.finish_reason === "length") return unscored("truncated_reply");
  const parsed = parseVerdict(choice.message.content ?? "");
  if (parsed.status === "unscored") return unscored(parsed.reason);
  const { first, second, rationale } = parsed;
  const scores =
    request.order === "test-first" ? { test: first, reference: second } : { test: second, reference: first };
  return { status: "scored", metric, scores, rationale, raw };
}

type Answered =
  | { readonly status: "ok"; readonly reply: unknown; readonly raw: string }
  | { readonly status: "failed"; readonly reason: string; readonly raw: string | null };

async function send(
  { json, signal }: { readonly json: string; readonly signal: AbortSignal | undefined },
  { settings, world }: Call,
): Promise<Answered> {
  const seen = { status: 0, raw: "" };
  // postJson gives no body of a reply that it cannot parse; a verdict keeps what the judge really sent.
  const recording: typeof fetch = async (...input) => {
    seen.status = 0;
    seen.raw = "";
    const response = await world.fetch(...input);
    seen.status = response.status;
    seen.raw = await response.clone().text();
    return response;
  };
  const key = settings.keySecret === null ? null : world.secrets.read(settings.keySecret);
  const mask = (text: string): string => world.secrets.mask(text);
  try {
    const { reply, raw } = await postJson(
      {
        url: `${settings.baseUrl.replace(/\/+$/, "")}/chat/completions`,
        headers: key === null ? {} : { authorization: `Bearer ${key}` },
        json,
        schema: z.unknown(),
        timeout: settings.timeout,
        attempts: settings.attempts,
        signal,
      },
      { fetch: recording, clock: world.clock, mask },
    );
    return { status: "ok", reply, raw: mask(raw) };
  } catch (error) {
    if (!(error instanceof UnderstudyError) || error.actor === "bug" || isFinal(error, seen.status))
      throw error;
    const reason = error.code === "JSON_INVALID" ? "unreadable" : "failed";
    return { status: "failed", reason, raw: seen.raw === "" ? null : mask(seen.raw) };
  }
}

// Refused for good, or for longer than anyone waits: so would every further call be.
const isFinal = ({ code }: UnderstudyError, status: number): boolean =>
  code === "HTTP_RETRY_LATER" || (status >= 400 && status < 500 && status !== 408 && status !== 429);

function refuseOtherModel(answered: string, { model, servedAs }: OpenAiJudgeSettings): void {
  const expected = servedAs ?? model;
  if (answered === expected) return;
  throw new RemoteError("JUDGE_REROUTED", `The judge ${expected} was asked and ${answered} answered`, {
    hint: `scores of two judges must not be mixed; if ${answered} is what you want, say so in servedAs`,
  });
}

function bodyOf(request: JudgeRequest, metric: MetricName, model: string): unknown {
  const prompt = judgePrompt(request, metric);
  const [first, second] =
    request.order === "test-first" ? [request.test, request.reference] : [request.reference, request.test];
  return {
    model,
    temperature: 0,
    messages: [
      {
        role: "user",
        content: [
          text(`${prompt.opening}\n\n${prompt.beforeFirst}`),
          ...first.map(audio),
          text(prompt.beforeSecond),
          ...second.map(audio),
          text(prompt.closing),
        ],
      },
    ],
  };
}

const text = (value: string): unknown => ({ type: "text", text: value });

const audio = (bytes: Uint8Array): unknown => ({
  type: "input_audio",
  input_audio: { data: Buffer.from(bytes).toString("base64"), format: "wav" },
});
