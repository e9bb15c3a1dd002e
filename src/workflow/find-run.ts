import { UserError } from "../core/errors.ts";
import { didYouMean } from "../core/near-matches.ts";
import type { Store } from "../track/index.ts";

const MOST = 8;

/**
 * The id of the run that a person means by `word`: all of an id, or as much of its beginning as tells it from the others.
 * An evaluation's runs do not count beside the training run that they belong to. UserErrors `RUN_UNKNOWN`, `RUN_AMBIGUOUS`.
 */
export const runIdOf = (store: Pick<Store, "findRun" | "runNames">, word: string): string => {
  if (store.findRun(word) !== undefined) return word;
  const found = store.runNames(word);
  const own = found.filter(({ parentId }) => parentId === null);
  const heads = (own.length > 0 ? own : found).map(({ id }) => id);
  const [only] = heads;
  if (only === undefined) throw unknown(store, word);
  if (heads.length > 1) {
    const more = heads.length > MOST ? `, and ${heads.length - MOST} more` : "";
    throw new UserError("RUN_AMBIGUOUS", `"${word}" is the beginning of ${heads.length} runs`, {
      hint: `write more of one of them: ${heads.slice(0, MOST).join(", ")}${more}`,
    });
  }
  return only;
};

function unknown(store: Pick<Store, "runNames">, word: string): UserError {
  const ids = store.runNames().map(({ id }) => id);
  return new UserError("RUN_UNKNOWN", `There is no run "${word}"${didYouMean(word, ids)}`, {
    hint:
      ids.length === 0
        ? "no run has been started in this project yet; later this lists them: understudy run list"
        : "see all runs: understudy run list --all",
  });
}
