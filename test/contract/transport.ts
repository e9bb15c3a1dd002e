import { randomBytes } from "node:crypto";
import { Readable } from "node:stream";
import { setTimeout as wait } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { ExecOutcome, Transport } from "../../src/launch/transport/index.ts";

/** What a transport must do, whatever carries it. `open` gives one to a machine with sh and coreutils. */
export const transportContract = (name: string, open: () => Promise<Transport>): void => {
  describe(`transport contract: ${name}`, () => {
    let transport: Transport;
    beforeAll(async () => {
      transport = await open();
    });
    afterAll(async () => transport.close());

    it.each<[string, readonly string[]]>([
      ["spaces and emptiness", ["a b", "", " ", "  lead", "trail  "]],
      ["quotes", ["'", '"', `it's "so"`, "''", "`id`"]],
      [
        "what a shell would expand",
        ["$HOME", "$(id)", "${x}", "*", "~", "!!", "a;b", "a&&b", "a|b", "<", ">", "#x"],
      ],
      ["newlines and tabs", ["one\ntwo", "\n", "\ttab", "cr\r\nlf", "end\n"]],
      ["backslashes", ["\\", "\\n", "\\0101", "%s", "%%", "a\\"]],
      ["other characters", ["ünïcödé", "角色", "🎭", "\u0081\u0088", "\u{10ffff}"]],
      ["dashes", ["-n", "--", "-e", "--help"]],
      ["a long one", ["x".repeat(100_000), "ß".repeat(20_000)]],
    ])("passes arguments byte for byte: %s", async (_what, words) => {
      const script = `for word; do printf '%s\\0' "$word"; done`;
      const outcome = await transport.exec(["sh", "-c", script, "sh", ...words]);
      expect(stdoutOf(outcome)).toBe(words.map((word) => `${word}\0`).join(""));
    });

    it("gives standard output and error of the program alone", async () => {
      const outcome = await transport.exec(["sh", "-c", "printf out; printf err >&2"]);
      expect(outcome).toMatchObject({ kind: "exited", code: 0, stderr: "err" });
      expect(stdoutOf(outcome)).toBe("out");
    });

    it("gives nothing where a program says nothing", async () => {
      const outcome = await transport.exec(["true"]);
      expect(outcome).toMatchObject({ kind: "exited", code: 0, stderr: "" });
      expect(stdoutOf(outcome)).toBe("");
    });

    it.each([0, 1, 2, 3, 75, 124, 126, 255])("tells exit code %i", async (code) => {
      expect(await transport.exec(["sh", "-c", `exit ${code}`])).toMatchObject({ kind: "exited", code });
    });

    it("tells a missing program", async () => {
      const outcome = await transport.exec(["no-such-program-anywhere", "x"]);
      expect(outcome).toMatchObject({ kind: "exited", code: 127 });
    });

    it("runs a program, not the shell's word of that name", async () => {
      expect(await transport.exec(["exit", "3"])).toMatchObject({ kind: "exited", code: 127 });
    });

    it.each(["KILL", "TERM", "SEGV"])("tells signal %s", async (signal) => {
      const outcome = await transport.exec(["sh", "-c", `kill -${signal} $$; sleep 5`]);
      expect(outcome).toMatchObject({ kind: "signalled", signal: `SIG${signal}` });
    });

    it("streams 3 MB of input, bytes of every value", async () => {
      const bytes = randomBytes(3_000_000);
      const pieces = Array.from({ length: 30 }, (_, index) =>
        bytes.subarray(index * 100_000, (index + 1) * 100_000),
      );
      const outcome = await transport.exec(["cat"], { stdin: Readable.from(pieces) });
      expect(outcome.kind === "exited" && outcome.stdout.equals(bytes)).toBe(true);
    });

    it("takes text and bytes as input, and none", async () => {
      expect(stdoutOf(await transport.exec(["cat"], { stdin: "tëxt\n" }))).toBe("tëxt\n");
      expect(stdoutOf(await transport.exec(["cat"], { stdin: Buffer.from([0x61, 0x0a]) }))).toBe("a\n");
      expect(stdoutOf(await transport.exec(["cat"]))).toBe("");
    });

    it("does not wait for a program to read all of its input", async () => {
      const endless = Readable.from(
        (async function* () {
          for (;;) yield Buffer.alloc(64 * 1024);
        })(),
      );
      const outcome = await transport.exec(["head", "-c", "3"], { stdin: endless });
      expect(outcome).toMatchObject({ kind: "exited", code: 0 });
      expect(endless.destroyed).toBe(true);
    });

    it("rejects with the error of the caller's own input, and ends the program", async () => {
      const broken = Readable.from(
        (async function* () {
          yield "start\n";
          await wait(50);
          throw new Error("the disk here is gone");
        })(),
      );
      await expect(transport.exec(["sh", "-c", "cat; sleep 30"], { stdin: broken })).rejects.toThrow(
        "the disk here is gone",
      );
    });

    it("streams 50 MB of output with back-pressure", async () => {
      let total = 0;
      let inside = 0;
      let most = 0;
      const outcome = await transport.exec(["head", "-c", "50000000", "/dev/zero"], {
        onStdout: async (chunk) => {
          inside += 1;
          most = Math.max(most, inside);
          await wait(0);
          total += chunk.length;
          inside -= 1;
        },
      });
      expect(outcome).toMatchObject({ kind: "exited", code: 0 });
      expect(total).toBe(50_000_000);
      expect(most).toBe(1);
    });

    it("keeps output up to the limit and refuses more, never cutting it", async () => {
      const at = await transport.exec(["head", "-c", "100000", "/dev/zero"], { limit: 100_000 });
      expect(at.kind === "exited" && at.stdout.length).toBe(100_000);
      const over = await transport.exec(["head", "-c", "100001", "/dev/zero"], { limit: 100_000 });
      expect(over).toMatchObject({ kind: "transport-error", code: "OUTPUT_TOO_LONG", started: "unknown" });
    });

    it("ends a program at its deadline, with what it started", async () => {
      const mark = `us${randomBytes(8).toString("hex")}`;
      const outcome = await transport.exec(
        ["sh", "-c", `sh -c 'sleep 987; : ${mark}' & sleep 987; : ${mark}`],
        {
          deadline: 1500,
        },
      );
      expect(outcome).toMatchObject({ kind: "transport-error", code: "DEADLINE", started: "unknown" });
      await untilGone(transport, mark);
    });

    it("ends a program when its caller gives up", async () => {
      const mark = `us${randomBytes(8).toString("hex")}`;
      const giveUp = new AbortController();
      const running = transport.exec(["sh", "-c", `echo; sleep 987; : ${mark}`], {
        signal: giveUp.signal,
        onStdout: async () => giveUp.abort(),
      });
      expect(await running).toMatchObject({ kind: "transport-error", code: "ABORTED", started: "unknown" });
      await untilGone(transport, mark);
    });

    it("starts nothing for a caller that has given up before", async () => {
      const outcome = await transport.exec(["true"], { signal: AbortSignal.abort() });
      expect(outcome).toMatchObject({ kind: "transport-error", code: "ABORTED", started: "no" });
    });

    it("leaves alone what a program has detached", async () => {
      const script =
        'setsid sh -c \'sleep 1; echo alive > "$1"\' sh "$1" > /dev/null 2>&1 < /dev/null & echo $!';
      const file = `/tmp/${randomBytes(8).toString("hex")}`;
      expect(await transport.exec(["sh", "-c", script, "sh", file])).toMatchObject({
        kind: "exited",
        code: 0,
      });
      const read = async (): Promise<string> =>
        stdoutOf(await transport.exec(["sh", "-c", 'cat "$1" || :', "sh", file]));
      await expect.poll(read, { timeout: 10_000 }).toBe("alive\n");
      await transport.exec(["rm", "-f", file]);
    });

    it("does not wait for a child that holds the output open", async () => {
      const outcome = await transport.exec(["sh", "-c", "sleep 60 & echo $!"]);
      expect(outcome).toMatchObject({ kind: "exited", code: 0 });
      await transport.exec(["kill", stdoutOf(outcome).trim()]);
    });

    it("keeps many commands at once apart", async () => {
      const numbers = Array.from({ length: 40 }, (_, index) => String(index));
      const outcomes = await Promise.all(
        numbers.map(async (number) =>
          transport.exec(["sh", "-c", `sleep 0.0$(($1 % 7)); echo $1`, "sh", number]),
        ),
      );
      expect(outcomes.map(stdoutOf)).toEqual(numbers.map((number) => `${number}\n`));
    });

    it("goes on after an error", async () => {
      await transport.exec(["sleep", "5"], { deadline: 300 });
      expect(stdoutOf(await transport.exec(["echo", "still here"]))).toBe("still here\n");
    });
  });
};

const stdoutOf = (outcome: ExecOutcome): string =>
  outcome.kind === "transport-error" ? `${outcome.code}: ${outcome.reason}` : outcome.stdout.toString("utf8");

// Gone from the process table, or dead and not yet collected. The question itself must not hold the mark.
async function untilGone(transport: Transport, mark: string): Promise<void> {
  const question = `ps -eo stat=,args= | grep -v '^Z' | grep -c "$1[$2]" || :`;
  const count = async (): Promise<string> =>
    stdoutOf(await transport.exec(["sh", "-c", question, "sh", mark.slice(0, -1), mark.slice(-1)])).trim();
  await expect.poll(count, { timeout: 10_000 }).toBe("0");
}
