import type { ResultPromise } from "execa";
import { RemoteError } from "../../core/errors.ts";
import { requestLine, vectorsOf } from "./embed-protocol.ts";

export interface EmbedProgram {
  readonly argv: readonly [string, ...string[]];
  /** All that the program gets. */
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** For one request. */
  readonly milliseconds: number;
  readonly dimension: number;
}

interface ChildOptions {
  readonly extendEnv: false;
  readonly reject: false;
  readonly buffer: false;
  readonly stdin: "pipe";
  readonly env: EmbedProgram["environment"];
}
type Child = ResultPromise<ChildOptions>;

interface Running {
  readonly child: Child;
  readonly lines: AsyncIterator<string>;
  /** Last characters of its standard error. */
  readonly said: () => string;
}

const KEPT_CHARACTERS = 4000;

/**
 * A program that answers lines with lines, one request at a time. It ends by itself when its standard input does, so it
 * never outlives us. RemoteErrors `EMBEDDER_ENDED`, `EMBEDDER_SILENT`, and those of `vectorsOf`; after any of them, and
 * after an abort, the program is gone and the next request starts another.
 */
export class EmbedProcess {
  readonly #program: EmbedProgram;
  #running: Running | undefined;
  #queue: Promise<unknown> = Promise.resolve();
  #requests = 0;

  constructor(program: EmbedProgram) {
    this.#program = program;
  }

  /** Raw vectors, as the model gave them. Calls at the same time wait for each other. */
  async ask(texts: readonly string[], signal?: AbortSignal): Promise<Float32Array[]> {
    const answer = this.#queue.then(async () => this.#askNow(texts, signal));
    this.#queue = answer.catch(() => undefined);
    return answer;
  }

  async close(): Promise<void> {
    await this.#queue;
    const running = this.#running;
    this.#running = undefined;
    if (running === undefined) return;
    running.child.stdin.end();
    running.child.kill("SIGTERM");
    await running.child;
  }

  async #askNow(texts: readonly string[], signal: AbortSignal | undefined): Promise<Float32Array[]> {
    signal?.throwIfAborted();
    const { milliseconds, dimension } = this.#program;
    const running = (this.#running ??= await start(this.#program));
    // What was aborted meanwhile calls no listener any more.
    signal?.throwIfAborted();
    const id = ++this.#requests;
    const deadline = AbortSignal.timeout(milliseconds);
    const stop = signal === undefined ? deadline : AbortSignal.any([deadline, signal]);
    const kill = (): void => void running.child.kill("SIGKILL");
    stop.addEventListener("abort", kill, { once: true });
    try {
      running.child.stdin.write(requestLine(id, texts));
      const next = await running.lines.next();
      if (next.done !== true) return vectorsOf(next.value, { id, count: texts.length, dimension });
      throw ended(await running.child, running.said());
    } catch (error) {
      this.#running = undefined;
      kill();
      await running.child;
      signal?.throwIfAborted();
      if (deadline.aborted) throw silent(milliseconds, running.said());
      throw error;
    } finally {
      stop.removeEventListener("abort", kill);
    }
  }
}

async function start({ argv: [program, ...args], environment }: EmbedProgram): Promise<Running> {
  // Whoever packs without an embedder has no need of it.
  const { execa } = await import("execa");
  const options: ChildOptions = {
    extendEnv: false,
    reject: false,
    buffer: false,
    stdin: "pipe",
    env: environment,
  };
  const child: Child = execa(program, args, options);
  // What a program that has ended did not read is no error of its own; its end is.
  child.stdin.on("error", () => undefined);
  let said = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    said = (said + text).slice(-KEPT_CHARACTERS);
  });
  return { child, lines: child.iterable({ from: "stdout" }), said: () => said.trim() };
}

function ended(result: Awaited<Child>, said: string): RemoteError {
  const how =
    result.signal === undefined
      ? result.exitCode === undefined
        ? `could not be started: ${result.shortMessage ?? "no reason was given"}`
        : `ended with code ${result.exitCode}`
      : `was ended by ${result.signal}`;
  return new RemoteError("EMBEDDER_ENDED", `The embedding program ${how}${lastWords(said)}`, {
    hint:
      result.signal === "SIGKILL"
        ? "was there too little memory? what was embedded before is kept: run the same command again"
        : "what was embedded before is kept: mend it and run the same command again",
  });
}

function silent(milliseconds: number, said: string): RemoteError {
  return new RemoteError(
    "EMBEDDER_SILENT",
    `The embedding program gave no answer in ${milliseconds / 1000} s and was ended${lastWords(said)}`,
    { hint: "what was embedded before is kept: run the same command again, or use a faster machine" },
  );
}

function lastWords(said: string): string {
  return said === "" ? "" : `; its last words: ${said.split("\n").slice(-5).join("\n")}`;
}
