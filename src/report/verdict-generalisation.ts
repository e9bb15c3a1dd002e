import { type Cell, cellKey } from "./cell.ts";
import { NO_UNSEEN_ROLES, TOO_FEW_ROLES } from "./estimates.ts";
import { findingOf } from "./finding.ts";
import { BOTH, DID, GAIN, headlinePair } from "./generalisation-cells.ts";
import type { Prepared } from "./prepare.ts";
import { say, type Sentence } from "./sentence.ts";

/** Does the gain carry over to roles that were never trained on? Refused or limited where the data does not allow an answer. */
export const generalisationSentences = (
  prepared: Prepared,
  cells: ReadonlyMap<string, Cell>,
): readonly Sentence[] => {
  const { base, chosen } = prepared.input.comparison;
  const pair = headlinePair(prepared.input);
  const find = (suite: string, outcome: string): Cell | undefined =>
    cells.get(cellKey({ table: "generalisation", system: pair.id, suite, outcome }));
  const did = find(BOTH, DID);
  const tell = say("generalisation");
  if (did === undefined || prepared.same(chosen, base))
    return [tell`There is nothing to generalise: the checkpoint is the base model. `];
  if (did.estimate === null) return [tell`Whether it generalises cannot be said: ${refusal(did)}. `];
  const numbers = tell`The gain on unseen roles less the gain on seen roles is ${did} nats per token`;
  const and = (text: string): Sentence => ({ topic: "generalisation", parts: [...numbers.parts, text] });
  if (did.reason === TOO_FEW_ROLES) {
    return [
      and(`, but there are fewer than 8 roles on a side: that is too few for a verdict on generalisation. `),
    ];
  }
  return [and(conclusion(did, find("test/seen", GAIN), find("test/unseen", GAIN)))];
};

function conclusion(did: Cell, seen: Cell | undefined, unseen: Cell | undefined): string {
  const finding = findingOf(did, "higher");
  const gains = (cell: Cell | undefined): boolean => findingOf(cell, "higher") === "better";
  if (finding === "better") return `: unseen roles gain more than seen ones. `;
  if (finding === "worse") {
    return gains(unseen)
      ? `: unseen roles gain too, but less than seen ones. `
      : `: the gain is smaller on unseen roles, where no gain is shown. That is what memorising the training roles looks like. `;
  }
  if (finding === "inconclusive") {
    return gains(seen) && gains(unseen)
      ? `: both gain, and the interval of the difference includes 0. No loss on unseen roles is shown; that the gains are equal is not shown either. `
      : `: the interval includes 0, so this test cannot say whether unseen roles gain less. `;
  }
  return `, without a usable interval (${did.reason ?? "zero variance"}): nothing is claimed. `;
}

function refusal({ reason }: Cell): string {
  return reason === NO_UNSEEN_ROLES
    ? "every test role was in the training data, so there is no unseen role"
    : (reason ?? "there is no number");
}
