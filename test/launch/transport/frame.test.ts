import { spawn } from "node:child_process";
import { describe, expect, it } from "vitest";
import { frameOf } from "../../../src/launch/transport/frame.ts";
import { markedStream } from "../../../src/launch/transport/marked-stream.ts";
import { programPath } from "../../support/real-suite.ts";

const words = ["it's", '"$HOME" `id` \\n %s !x', "two\nlines", "角色 \u0081", ""];

describe("frameOf", () => {
  // The kind of login shell is the far user's choice: whichever of these is here has to pass it on unchanged.
  for (const shell of ["sh", "dash", "bash", "zsh", "ksh", "csh", "tcsh", "fish", "busybox"]) {
    const path = programPath(shell);
    if (path === undefined) continue;
    it(`goes through ${shell}`, async () => {
      const frame = frameOf(["printf", "%s|", ...words]);
      const args = shell === "busybox" ? ["sh", "-c", frame.command] : ["-c", frame.command];
      const output = await run(path, args, frame.line);
      expect(output).toMatch(new RegExp(`${frame.ready}:\\d+:`));
      expect(output).toContain(`${frame.begin}${words.map((word) => `${word}|`).join("")}${frame.end}:0:`);
    });
  }

  it("keeps the command and the later marks out of what the process table shows", () => {
    const frame = frameOf(["program", "argument"]);
    expect(frame.command).not.toContain("argument");
    expect(frame.command).not.toContain(frame.begin);
    expect(frame.command).not.toContain(frame.end);
  });

  it("never uses a mark twice", () => {
    const frames = [frameOf(["true"]), frameOf(["true"])];
    const marks = frames.flatMap(({ ready, begin, end }) => [ready, begin, end]);
    expect(new Set(marks).size).toBe(6);
  });
});

describe("markedStream", () => {
  const marks = { begin: "usBEGIN", end: "usEND" };

  it.each([1, 2, 3, 5, 7, 100])("finds marks torn into chunks of %i bytes", (size) => {
    const text = Buffer.from("noise usBEGI usBEGINbody us usEN usEND:12:more");
    let status = "";
    const stream = markedStream({ ...marks, withStatus: true, onEnd: (found) => (status = found) });
    let body = "";
    for (let at = 0; at < text.length; at += size)
      body += stream.push(text.subarray(at, at + size)).toString();
    expect([body, status, stream.ended]).toEqual(["body us usEN ", "12", true]);
  });

  it("gives at once what cannot belong to a mark", () => {
    const stream = markedStream({ ...marks, withStatus: false });
    stream.push(Buffer.from("usBEGIN"));
    expect(stream.push(Buffer.from("a line\n")).toString()).toBe("a line\n");
    expect(stream.push(Buffer.from("us")).toString()).toBe("");
    expect(stream.push(Buffer.from("er\n")).toString()).toBe("user\n");
  });

  it("shows what came before the begin mark", () => {
    const noises: string[] = [];
    const stream = markedStream({ ...marks, withStatus: false, onNoise: (noise) => noises.push(noise) });
    stream.push(Buffer.from("Welcome\n"));
    stream.push(Buffer.from("READY:1:usBEGIN"));
    expect(noises.at(-1)).toBe("Welcome\nREADY:1:");
  });
});

async function run(program: string, args: readonly string[], input: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, { stdio: ["pipe", "pipe", "ignore"] });
    let output = "";
    child.stdout.on("data", (chunk: Buffer) => (output += chunk.toString("utf8")));
    child.once("error", reject);
    child.once("close", () => resolve(output));
    child.stdin.end(input);
  });
}
