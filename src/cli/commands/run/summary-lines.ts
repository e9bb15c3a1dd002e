import { shellQuote, type Plan } from "../../../launch/index.ts";
import type { JobSummary } from "../../../workflow/index.ts";
import { bytesText, countText } from "../../quantities.ts";

type Share = JobSummary["sends"][number];

/** What goes where, in short. */
export const summaryLines = (summary: JobSummary, profile: string): string[] => {
  const { where, sends, expects, environment, results } = summary;
  return [
    `on ${profile}: ${where}`,
    sends.length === 0
      ? "  sends   nothing but the plan's own files"
      : `  sends   at most ${sharesText(sends)}; only what is missing there`,
    ...(expects.length === 0 ? [] : [`  there   ${sharesText(expects)} must be there already`]),
    ...(environment === null ? [] : [`  python  ${environment}, made there once`]),
    `  results ${results}`,
  ];
};

const WIDEST = 100;

/** What is run or asked there, in one line; the plan has all of it. */
export const commandLine = ({ kind, argv, attempt }: Plan): string => {
  if (kind === "sagemaker") return `  asks    CreateTrainingJob ${attempt.marker}`;
  const words = argv.map(shellQuote).join(" ");
  return `  runs    ${words.length > WIDEST ? `${words.slice(0, WIDEST)} …` : words}`;
};

function sharesText(shares: readonly Share[]): string {
  const files = shares.reduce((sum, share) => sum + share.files, 0);
  const bytes = shares.reduce((sum, share) => sum + share.bytes, 0);
  const parts = shares.map(
    (share) => `${share.role} ${countText(share.files)} files, ${bytesText(share.bytes)}`,
  );
  return `${countText(files)} files, ${bytesText(bytes)} (${parts.join("; ")})`;
}
