import { sha256 } from "../core/hash.ts";
import type { Plan, PlannedFile } from "./schema.ts";

/** The plan as `--dry-run` prints it: everything that would be sent, secrets as names, the same text every time. */
export const planText = (plan: Plan): string =>
  [
    `${plan.kind} attempt ${plan.attempt.number} of ${plan.runId}`,
    `marker  ${plan.attempt.marker}`,
    `folder  ${plan.cwd}`,
    "",
    "command",
    ...plan.argv.map((argument) => `  ${shellQuote(argument)}`),
    "",
    "environment (nothing else is passed on)",
    ...Object.entries(plan.environment)
      .toSorted(([a], [b]) => (a < b ? -1 : 1))
      .map(([name, entry]) =>
        "secret" in entry
          ? `  ${name}  (secret, read when the job starts)`
          : `  ${name}=${shellQuote(entry.value)}`,
      ),
    "",
    "files",
    ...plan.files.flatMap(fileLines),
    "",
  ].join("\n");

/** One argument as a POSIX shell reads it back unchanged. */
export const shellQuote = (text: string): string =>
  /^[A-Za-z0-9_\-./:=@%+,]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;

function fileLines(file: PlannedFile): string[] {
  const mode = file.mode.toString(8).padStart(4, "0");
  const head = `  ${file.path}  mode ${mode}, ${Buffer.byteLength(file.text)} bytes, sha256 ${sha256(file.text)}`;
  // A script ships with this program: its digest says which one it is.
  const isScript = (file.mode & 0o111) !== 0;
  return isScript
    ? [head]
    : [
        head,
        ...file.text
          .trimEnd()
          .split("\n")
          .map((line) => `    ${line}`),
      ];
}
