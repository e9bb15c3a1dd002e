import type { WrittenReport } from "../workflow/index.ts";
import type { Context } from "./context.ts";
import { wrap } from "./wrap.ts";

const WIDEST = 100;

/** The verdict as paragraphs, and where the report is: the last lines of every command that makes one. */
export const reportLines = (
  { headline, verdict, path }: WrittenReport,
  { print, width }: Pick<Context, "print" | "width">,
): string[] => {
  const columns = Math.min(width, WIDEST);
  return [
    "",
    ...wrap(headline, columns).map((line) => print.style.bold(line)),
    "",
    ...verdict.flatMap((sentence) => wrap(sentence, columns)),
    "",
    `report: ${path}`,
  ];
};
