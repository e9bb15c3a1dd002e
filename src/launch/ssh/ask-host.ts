import { join } from "node:path";
import { messageOf, UnderstudyError, UserError } from "../../core/errors.ts";
import { readIfExists } from "../../core/files.ts";
import type { ExecOutcome } from "../transport/index.ts";
import type { Host } from "./hosts.ts";

const NAMES = ["lock", "look", "start", "run", "observe", "cancel"] as const;
export type HostScript = (typeof NAMES)[number];
/** Text of each far program, with what all of them have in common in front of it. */
export type HostScripts = Readonly<Record<HostScript, string>>;

/** Reads `far/host-*.sh` of the payload. UserError `PAYLOAD_INCOMPLETE`. */
export const readHostScripts = async (payload: string): Promise<HostScripts> => {
  const read = async (name: string): Promise<string> => {
    const file = join(payload, "far", `host-${name}.sh`);
    const text = await readIfExists(file);
    if (text !== undefined) return text;
    throw new UserError("PAYLOAD_INCOMPLETE", `There is no file ${file}`, {
      hint: "the payload folder must be the one that came with this program",
    });
  };
  const common = await read("lib");
  const text = async (name: HostScript): Promise<string> => `${common}${await read(name)}`;
  const [lock, look, start, run, observe, cancel] = await Promise.all([
    text("lock"),
    text("look"),
    text("start"),
    text("run"),
    text("observe"),
    text("cancel"),
  ]);
  return { lock, look, start, run, observe, cancel };
};

/** One line of an answer: a word, and what follows it. */
export interface Line {
  readonly word: string;
  readonly rest: string;
}

/** What a host said, or why nothing is known. */
export type Reply =
  | { readonly kind: "lines"; readonly lines: readonly Line[] }
  | {
      readonly kind: "problem";
      /** `no`: the program was certainly never started there. */
      readonly started: "no" | "unknown";
      /** The transport's, or `FAR_FAILED`. */
      readonly code: string;
      readonly reason: string;
      readonly hint?: string;
    };
export type Problem = Extract<Reply, { kind: "problem" }>;

export interface HostQuestion {
  readonly script: string;
  readonly args: readonly string[];
  /** Milliseconds; default: the profile's for a short command. */
  readonly deadline?: number;
}

/**
 * Runs one of the far programs on a host; it comes over standard input, and its arguments as they are. Never throws: an answer
 * without its last line is no answer.
 */
export const askHost = async (host: Host, question: HostQuestion): Promise<Reply> => {
  const { script, args, deadline } = question;
  try {
    const transport = await host.transport();
    const outcome = await transport.exec(["/bin/sh", "-s", "--", ...args], {
      stdin: script,
      ...(deadline === undefined ? {} : { deadline }),
    });
    return replyOf(outcome, host.name);
  } catch (error) {
    return problemOf(error);
  }
};

/** An error of opening a transport or of a step before the start, as a reply: nothing was started. */
export const problemOf = (error: unknown): Problem => ({
  kind: "problem",
  started: "no",
  code: error instanceof UnderstudyError ? error.code.replace(/^TRANSPORT_/, "") : "UNREACHABLE",
  reason: messageOf(error),
  ...(error instanceof UnderstudyError && error.hint !== undefined ? { hint: error.hint } : {}),
});

function replyOf(outcome: ExecOutcome, name: string): Reply {
  if (outcome.kind === "transport-error") {
    const { started, code, reason, hint } = outcome;
    const where = reason.includes(name) ? reason : `${name}: ${reason}`;
    return { kind: "problem", started, code, reason: where, ...(hint === undefined ? {} : { hint }) };
  }
  const lines = outcome.stdout.toString("utf8").split("\n");
  const complete = lines.at(-1) === "" && lines.at(-2) === "end";
  const parsed = lines.slice(0, -2).map(lineOf);
  const [first] = parsed;
  if (complete && first?.word !== "error") return { kind: "lines", lines: parsed };
  const said = first?.word === "error" ? first.rest : lastLine(outcome);
  return { kind: "problem", started: "unknown", code: "FAR_FAILED", reason: `${name}: ${said}` };
}

function lineOf(text: string): Line {
  const space = text.indexOf(" ");
  return space === -1
    ? { word: text, rest: "" }
    : { word: text.slice(0, space), rest: text.slice(space + 1) };
}

function lastLine(outcome: Exclude<ExecOutcome, { kind: "transport-error" }>): string {
  const how = outcome.kind === "exited" ? `exit ${outcome.code}` : outcome.signal;
  const said = outcome.stderr.trim().split("\n").at(-1) ?? "";
  return said === "" ? `the far program ended without an answer (${how})` : `${said} (${how})`;
}
