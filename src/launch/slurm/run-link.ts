import type { Plan } from "../schema.ts";
import type { Transport, TransportErrorCode } from "../transport/transport.ts";
import { execute, scrubbedScript } from "./command.ts";
import { placeOf } from "./submission.ts";

/** sbatch answers within a few of its own ten-second limits, or hangs. */
export const SBATCH_SECONDS = 60;

/** How one sbatch went. */
export type LinkOutcome =
  | {
      readonly kind: "ran";
      readonly code: number;
      readonly stdout: string;
      readonly stderr: string;
      /** Milliseconds since the epoch there, when the first link was begun. */
      readonly begunAt: number;
    }
  /** Somebody has begun this link before. */
  | { readonly kind: "begun" }
  /** Certainly not run; `code` where the way there is the reason. */
  | {
      readonly kind: "not-run";
      readonly reason: string;
      readonly hint?: string;
      readonly code?: TransportErrorCode;
    }
  /** It may have run. */
  | { readonly kind: "unknown"; readonly reason: string };

// What sbatch says is on that disk before it is on its way here: a lost reply is read there. \`mkdir\` makes each link one
// submission's own.
const RUN = `
place=$1 link=$2 limit=$3
shift 3
mkdir -p "$place" || { echo unwritable; exit 0; }
[ -s "$place/at" ] || { date +%s >"$place/at.$$" && mv -f "$place/at.$$" "$place/at"; } || { echo unwritable; exit 0; }
here=$place/link-$link
mkdir "$here" 2>/dev/null || { if [ -d "$here" ]; then echo begun; else echo unwritable; fi; exit 0; }
if ! { : >"$here/out" && : >"$here/err"; } 2>/dev/null; then rm -rf "$here"; echo unwritable; exit 0; fi
timeout -k 5 "$limit" "$@" >"$here/out" 2>"$here/err" </dev/null
code=$?
printf '%s\\n' "$code" >"$here/code.tmp" && mv -f "$here/code.tmp" "$here/code"
IFS= read -r at <"$place/at"
printf 'ran %s %s\\n' "$code" "$at"
cat "$here/out"
cat "$here/err" >&2
exit 0
`;

/** Runs sbatch for one link, once. */
export const runLink = async (
  transport: Transport,
  plan: Plan,
  link: number,
  argv: readonly string[],
): Promise<LinkOutcome> => {
  const words = [placeOf(plan), String(link), String(SBATCH_SECONDS), ...argv];
  const outcome = await execute(transport, scrubbedScript(RUN, ...words), {
    deadline: (SBATCH_SECONDS + 20) * 1000,
  });
  if (outcome.kind === "transport-error") {
    const { started, reason, hint, code } = outcome;
    if (started === "unknown") return { kind: "unknown", reason };
    return { kind: "not-run", reason, code, ...(hint === undefined ? {} : { hint }) };
  }
  const text = outcome.stdout.toString("utf8");
  const end = text.indexOf("\n");
  const first = text.slice(0, end);
  if (first === "begun") return { kind: "begun" };
  if (first === "unwritable") {
    return { kind: "not-run", reason: `${placeOf(plan)} cannot be written: ${outcome.stderr.trim()}` };
  }
  const [, code, at] = /^ran (\d+) (\d+)$/.exec(first) ?? [];
  if (code === undefined || at === undefined) {
    return {
      kind: "unknown",
      reason: `the far shell did not say how sbatch ended: ${outcome.stderr.trim()}`,
    };
  }
  return {
    kind: "ran",
    code: Number(code),
    stdout: text.slice(end + 1),
    stderr: outcome.stderr,
    begunAt: Number(at) * 1000,
  };
};

// Kept under another name, as evidence; a link that somebody has begun meanwhile is young and stays.
const CLEAR = `
here=$1/link-$2
[ -d "$here" ] || exit 0
begun=$(stat -c %Y "$here") || exit 1
[ $(($(date +%s) - begun)) -ge "$3" ] || exit 1
mv "$here" "$here.over.$(date +%s).$$"
`;

/** Makes room for another try of a link that certainly is no job. False when somebody else is at it. */
export const clearLink = async (
  transport: Transport,
  plan: Plan,
  link: number,
  minimumAge: number,
): Promise<boolean> => {
  const argv = ["sh", "-c", CLEAR, "clear", placeOf(plan), String(link), String(minimumAge)] as const;
  const outcome = await execute(transport, argv, { deadline: 30_000 });
  return outcome.kind === "exited" && outcome.code === 0;
};
