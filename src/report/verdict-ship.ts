import type { Finding } from "./finding.ts";
import { say, type Sentence } from "./sentence.ts";

/** What the chosen checkpoint showed on one suite. */
export interface Showing {
  /** `seen roles` */
  readonly words: string;
  readonly againstBase: Finding;
  readonly againstLast: Finding;
}

/** Which checkpoint to use, as far as the intervals go and no further. `chosen` is its label. */
export const shipSentence = (chosen: string, showings: readonly Showing[]): Sentence => {
  const where = (finding: Finding, against: "againstBase" | "againstLast"): string =>
    showings
      .filter((showing) => showing[against] === finding)
      .map(({ words }) => words)
      .join(" and ");
  return say("ship")`${advice(chosen, showings, where)} `;
};

type Where = (finding: Finding, against: "againstBase" | "againstLast") => string;

function advice(chosen: string, showings: readonly Showing[], where: Where): string {
  if (where("better", "againstBase") === "") {
    return "No checkpoint of this run is shown to be better than the base model: use none of them yet.";
  }
  const worseThanBase = where("worse", "againstBase");
  if (worseThanBase !== "") {
    return `The ${chosen} is worse than the base model on ${worseThanBase}: use it only where that does not matter.`;
  }
  if (showings.every(({ againstLast }) => againstLast === "same_weights")) {
    return `Use the ${chosen}: it is the last checkpoint as well.`;
  }
  const better = where("better", "againstLast");
  const worse = where("worse", "againstLast");
  const open = where("inconclusive", "againstLast");
  if (better !== "" && worse !== "") {
    return `The ${chosen} is better than the last checkpoint on ${better} and worse on ${worse}: which to use depends on the roles you serve.`;
  }
  if (worse !== "") {
    return `The ${chosen} was chosen on dev, but the last checkpoint does better on ${worse}: look at both before you use one.`;
  }
  if (better === "") return `Use the ${chosen}, or the last one: this test does not tell the two apart.`;
  return `Use the ${chosen}: better than the last checkpoint on ${better}${open === "" ? "" : `, not told apart from it on ${open}`}.`;
}
