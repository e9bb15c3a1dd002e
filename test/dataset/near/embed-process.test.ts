import { execPath } from "node:process";
import { describe, expect, it, onTestFinished } from "vitest";
import { EmbedProcess } from "../../../src/dataset/near/embed-process.ts";

/** A program of a few words in place of the payload: `reply(id, texts)` is what it does with a request. */
const programOf = (reply: string, milliseconds = 30_000): EmbedProcess => {
  const code = `
    const vectors = (count) => Buffer.from(Float32Array.from({ length: 2 * count }, (_, i) => i).buffer).toString("base64");
    const say = (value) => process.stdout.write((typeof value === "string" ? value : JSON.stringify(value)) + "\\n");
    const reply = (id, texts) => { ${reply} };
    require("node:readline").createInterface({ input: process.stdin }).on("line", (line) => {
      const { id, texts } = JSON.parse(line);
      reply(id, texts);
    });`;
  const program = new EmbedProcess({
    argv: [execPath, "-e", code],
    environment: {},
    milliseconds,
    dimension: 2,
  });
  onTestFinished(async () => program.close());
  return program;
};
const GOOD = "say({ id, vectors: vectors(texts.length) });";

describe("a program that embeds", () => {
  it("is asked one thing at a time, in the order of the calls, over one life", async () => {
    const program = programOf(`globalThis.open = (globalThis.open ?? 0) + 1;
      if (globalThis.open > 1) process.exit(9);
      setTimeout(() => { globalThis.open = 0; ${GOOD} }, 10);`);
    const answers = await Promise.all([program.ask(["a"]), program.ask(["a", "b"]), program.ask(["c"])]);
    expect(answers).toEqual([
      [Float32Array.of(0, 1)],
      [Float32Array.of(0, 1), Float32Array.of(2, 3)],
      [Float32Array.of(0, 1)],
    ]);
  });

  it("is not asked when its caller gave up while it started", async () => {
    // A request would be waited for longer than this test has time.
    const program = programOf("setTimeout(() => {}, 600_000);", 600_000);
    const control = new AbortController();
    const answer = program.ask(["a"], control.signal);
    await Promise.resolve();
    await Promise.resolve();
    control.abort();
    await expect(answer).rejects.toMatchObject({ name: "AbortError" });
  });

  it("gets nothing of our environment", async () => {
    const program = programOf(`if (process.env.PATH || process.env.HOME) process.exit(9); ${GOOD}`);
    await expect(program.ask(["a"])).resolves.toHaveLength(1);
  });

  it.each([
    [
      "says why and ends",
      `console.error("no such model"); process.exit(3);`,
      "ended with code 3; its last words: no such model",
    ],
    ["is killed", `process.kill(process.pid, "SIGKILL");`, "was ended by SIGKILL"],
    ["ends as if all were well", "process.exit(0);", "ended with code 0"],
    [
      "ends within a line",
      `process.stdout.write('{"id":1,"vec', () => process.exit(1));`,
      'answered "{\\"id\\":1,\\"vec"',
    ],
    [
      "answers another request",
      "say({ id: id + 1, vectors: vectors(1) });",
      "answered request 2 with 8 bytes; request 1",
    ],
    [
      "answers too little",
      "say({ id, vectors: vectors(1).slice(0, 8) });",
      "with 1 vectors of 2 numbers was expected",
    ],
    ["says something else", `say("Loading weights: 100%");`, 'answered "Loading weights: 100%"'],
    [
      "says of a fault",
      `say({ error: { code: "X", message: "too hot", hint: "" } });`,
      "The embedding model failed: too hot",
    ],
  ])("%s: that is the error, and the next call starts another", async (_, reply, message) => {
    const program = programOf(`if (texts[0] === "good") { ${GOOD} } else { ${reply} }`);
    await expect(program.ask(["bad"])).rejects.toThrow(message);
    await expect(program.ask(["good"])).resolves.toEqual([Float32Array.of(0, 1)]);
  });

  it("that says nothing is ended after its time", async () => {
    const program = programOf(`console.error("thinking");`, 1500);
    await expect(program.ask(["a"])).rejects.toMatchObject({
      code: "EMBEDDER_SILENT",
      message: "The embedding program gave no answer in 1.5 s and was ended; its last words: thinking",
    });
  });

  it("is ended by an abort, whose reason is the error", async () => {
    const stop = new AbortController();
    const asking = programOf("").ask(["a"], stop.signal);
    setTimeout(() => stop.abort(new Error("enough")), 300);
    await expect(asking).rejects.toThrow("enough");
  });

  it("that cannot be started is told", async () => {
    const program = new EmbedProcess({
      argv: ["/nowhere/python", "-c", ""],
      environment: {},
      milliseconds: 1000,
      dimension: 2,
    });
    await expect(program.ask(["a"])).rejects.toMatchObject({
      code: "EMBEDDER_ENDED",
      message: expect.stringContaining("could not be started"),
    });
  });

  it("takes requests larger than a pipe holds", async () => {
    const texts = Array.from({ length: 64 }, () => "x".repeat(50_000));
    await expect(programOf(GOOD).ask(texts)).resolves.toHaveLength(64);
  });
});
