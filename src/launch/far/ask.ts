import { must } from "../transport/index.ts";
import type { ExecOptions, ExecOutcome, Transport } from "../transport/transport.ts";

interface Question extends ExecOptions {
  /** Text of a POSIX shell script; it comes as an argument, so that standard input stays free. */
  readonly script: string;
  readonly args: readonly string[];
  /** What is asked, for the error: completes "Could not …". */
  readonly what: string;
}

/** Runs a shell script on the far side with arguments of its own. What it answers is an outcome, never thrown. */
export const runScript = async (
  t: Transport,
  { script, args, what: _what, ...options }: Question,
): Promise<ExecOutcome> => t.exec(["/bin/sh", "-c", script, "understudy", ...args], options);

/** Standard output of a far script. RemoteErrors `TRANSPORT_…` (no answer) and `FAR_COMMAND_FAILED` (it said no). */
export const askScript = async (t: Transport, question: Question): Promise<string> =>
  must(await runScript(t, question), question.what).toString("utf8");
