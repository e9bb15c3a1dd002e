import { createServer, type Server, type ServerResponse } from "node:http";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { z } from "zod";
import { secretsFrom } from "../../src/core/secrets.ts";
import { type JudgeRequest, openAiJudge, type Verdict } from "../../src/evaluate/index.ts";

const Body = z.object({
  model: z.string(),
  temperature: z.literal(0),
  messages: z.array(
    z.object({ role: z.literal("user"), content: z.array(z.looseObject({ type: z.string() })) }),
  ),
});

type Behaviour = (response: ServerResponse, call: number) => void;

const send = (response: ServerResponse, status: number, body: unknown, headers = {}): void => {
  response.writeHead(status, { "content-type": "application/json", ...headers });
  response.end(typeof body === "string" ? body : JSON.stringify(body));
};
const reply = (content: string | null, changes = {}): object => ({
  model: "ears-1",
  choices: [{ finish_reason: "stop", message: { content } }],
  ...changes,
});
const good: Behaviour = (response) => send(response, 200, reply("A is better.\n[Scores]: (8, 5)"));

const request: JudgeRequest = {
  metrics: ["speech_fluency"],
  role: { name: "Thor", language: "en", card: "God of thunder." },
  userTexts: ["Who are you?"],
  test: [Uint8Array.of(1, 2, 3), Uint8Array.of(4)],
  reference: [Uint8Array.of(5, 6)],
  order: "test-first",
};

describe("openAiJudge", () => {
  let server: Server;
  let behaviour: Behaviour;
  let bodies: z.output<typeof Body>[];
  let keys: (string | undefined)[];
  let waits: number[];
  let calls: number;

  beforeEach(async () => {
    behaviour = good;
    [bodies, keys, waits, calls] = [[], [], [], 0];
    server = createServer((incoming, response) => {
      let text = "";
      incoming.on("data", (chunk) => (text += String(chunk)));
      incoming.on("end", () => {
        bodies.push(Body.parse(JSON.parse(text)));
        keys.push(incoming.headers.authorization);
        behaviour(response, calls++);
      });
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  });
  afterEach(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });

  const judge = (changes = {}) => {
    const address = server.address();
    const port = typeof address === "object" ? address?.port : 0;
    const settings = {
      baseUrl: `http://127.0.0.1:${port}/v1/`,
      model: "ears-1",
      keySecret: "JUDGE_KEY",
      timeout: 5000,
      attempts: 3,
      maxRequestBytes: 20_000_000,
    };
    const clock = { now: () => 0, sleep: async (wait: number) => void waits.push(wait) };
    const secrets = secretsFrom({ JUDGE_KEY: "sk-very-secret" });
    return openAiJudge({ ...settings, ...changes }, { fetch, clock, secrets });
  };
  const only = async (changes?: object): Promise<Verdict | undefined> =>
    (await judge(changes).judge(request))[0];

  it("sends both voices as raw base64 wav in turn order and reads the scores", async () => {
    expect(await only()).toMatchObject({
      status: "scored",
      metric: "speech_fluency",
      scores: { test: 8, reference: 5 },
      rationale: "A is better.",
    });
    const content = bodies[0]?.messages[0]?.content ?? [];
    expect(content.map(({ type }) => type)).toEqual([
      "text",
      "input_audio",
      "input_audio",
      "text",
      "input_audio",
      "text",
    ]);
    expect(content[1]).toMatchObject({ input_audio: { data: "AQID", format: "wav" } });
    expect(content[4]).toMatchObject({ input_audio: { data: "BQY=" } });
    expect(keys).toEqual(["Bearer sk-very-secret"]);
  });

  it("un-swaps the scores of the other order", async () => {
    const [verdict] = await judge().judge({ ...request, order: "reference-first" });
    expect(verdict).toMatchObject({ scores: { test: 5, reference: 8 } });
    expect(bodies[0]?.messages[0]?.content[1]).toMatchObject({ input_audio: { data: "BQY=" } });
  });

  it("asks once per metric and answers in their order", async () => {
    const verdicts = await judge().judge({ ...request, metrics: ["speech_naturalness", "speech_fluency"] });
    expect(verdicts.map(({ metric }) => metric)).toEqual(["speech_naturalness", "speech_fluency"]);
    expect(calls).toBe(2);
  });

  it("waits as long as a 429 says and then goes on", async () => {
    behaviour = (response, call) =>
      call === 0 ? send(response, 429, "slow down", { "retry-after": "7" }) : good(response, call);
    expect(await only()).toMatchObject({ status: "scored" });
    expect(waits).toEqual([7000]);
  });

  it("stops rather than wait for hours, or turn a used-up quota into hundreds of failed verdicts", async () => {
    behaviour = (response) => send(response, 429, "quota used up", { "retry-after": "86400" });
    await expect(only()).rejects.toMatchObject({ code: "HTTP_RETRY_LATER" });
    expect(calls).toBe(1);
  });

  it("stops when told to, and that is no verdict", async () => {
    const stop = new AbortController();
    behaviour = () => stop.abort(new Error("enough"));
    await expect(judge().judge({ ...request, signal: stop.signal })).rejects.toThrow("enough");
  });

  it("gives up on a server that stays broken: unscored, not zero", async () => {
    behaviour = (response) => send(response, 500, "boom");
    expect(await only()).toEqual({
      status: "unscored",
      metric: "speech_fluency",
      reason: "failed",
      raw: "boom",
    });
    expect(calls).toBe(3);
  });

  it("gives up on a connection that breaks", async () => {
    behaviour = (response) => response.destroy();
    expect(await only()).toMatchObject({ status: "unscored", reason: "failed", raw: null });
  });

  it("stops at once when the key is refused, without the key in the message", async () => {
    behaviour = (response) => send(response, 401, "bad key sk-very-secret");
    await expect(only()).rejects.toMatchObject({ code: "HTTP_STATUS" });
    await expect(only()).rejects.not.toThrow(/sk-very-secret/);
    expect(calls).toBe(2);
  });

  it("refuses a judge that was quietly replaced, unless it was announced", async () => {
    behaviour = (response) => send(response, 200, reply("[Scores]: (8, 5)", { model: "ears-2" }));
    await expect(only()).rejects.toMatchObject({ code: "JUDGE_REROUTED" });
    expect(await only({ servedAs: "ears-2" })).toMatchObject({ status: "scored" });
    expect(judge({ servedAs: "ears-2" }).identity).toEqual({ status: "used", model: "ears-2" });
  });

  it.each([
    ["text that is no JSON", "<html>gateway</html>", "unreadable"],
    ["no choices", { model: "ears-1", choices: [] }, "unreadable"],
    ["no model name", { choices: [{ message: { content: "[Scores]: (8, 5)" } }] }, "unreadable"],
    ["null", "null", "unreadable"],
    ["no content", reply(null), "empty_response"],
    ["no scores", reply("Both fine."), "no_match"],
    ["a score of eleven", reply("[Scores]: (11, 5)"), "out_of_range"],
    [
      "a refusal",
      reply(null, { choices: [{ finish_reason: "content_filter", message: { content: null } }] }),
      "blocked",
    ],
    [
      "a cut reply",
      reply("", { choices: [{ finish_reason: "length", message: { content: "[Scores]: (8, 5)" } }] }),
      "truncated_reply",
    ],
  ])("leaves %s unscored and keeps what was sent", async (_, body, reason) => {
    behaviour = (response) => send(response, 200, body);
    const verdict = await only();
    expect(verdict).toMatchObject({ status: "unscored", reason });
    expect(verdict?.raw).toBe(typeof body === "string" ? body : JSON.stringify(body));
  });

  it("masks the key where a server echoes it", async () => {
    behaviour = (response) => send(response, 200, reply("sk-very-secret [Scores]: (8, 5)"));
    expect((await only())?.raw).toContain("[JUDGE_KEY]");
  });

  it("does not send what is too large or has no audio", async () => {
    expect(await only({ maxRequestBytes: 100 })).toMatchObject({ reason: "too_large" });
    // The limit is of bytes: a Chinese card takes three for each character.
    const chinese = { ...request, role: { ...request.role, card: "悟".repeat(1000) } };
    const ascii = { ...request, role: { ...request.role, card: "x".repeat(1000) } };
    const limited = judge({ maxRequestBytes: 4000 });
    expect((await limited.judge(chinese))[0]).toMatchObject({ reason: "too_large" });
    expect(calls).toBe(0);
    expect((await limited.judge(ascii))[0]).toMatchObject({ status: "scored" });
    calls = 0;
    expect((await judge().judge({ ...request, test: [] }))[0]).toMatchObject({ reason: "missing_audio" });
    expect(calls).toBe(0);
  });

  it("names the secret that is missing", async () => {
    await expect(only({ keySecret: "OTHER_KEY" })).rejects.toMatchObject({ code: "SECRET_MISSING" });
  });
});
