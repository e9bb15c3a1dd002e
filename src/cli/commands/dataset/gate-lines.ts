import type { Gate } from "../../../dataset/index.ts";

const MOST_TOLD = 5;

/** `gate unique_ids: ok, 184 ids`; of a violated one what violates it, a line each where there is more than one. */
export const gateLines = ({ name, passed, detail, allowed }: Gate, more: string): string[] => {
  if (passed) return [`gate ${name}: ok, ${detail}`];
  const problems = problemLines(detail, more);
  const head = `gate ${name}: VIOLATED${allowed === null ? "" : ` and allowed (${allowed})`}`;
  const [only] = problems;
  return problems.length === 1 ? [`${head}, ${only}`] : [head, ...problems.map((line) => `    ${line}`)];
};

/** The first problems of a lock's `detail`, and where the others are. A semicolon in a file name breaks a line early. */
export const problemLines = (detail: string, more: string): string[] => {
  const parts = detail.split("; ");
  const [, unlisted] = /^and (\d+) more$/.exec(parts.at(-1) ?? "") ?? [];
  const listed = unlisted === undefined ? parts : parts.slice(0, -1);
  const rest = listed.length - MOST_TOLD + Number(unlisted ?? 0);
  return [...listed.slice(0, MOST_TOLD), ...(rest > 0 ? [`and ${rest} more: ${more}`] : [])];
};
