import { followToSuccess, resumeRun, runIdOf } from "../../../workflow/index.ts";
import { defineCommand } from "../../command.ts";
import { runLine } from "../../run-line.ts";
import { inShop } from "../../shop.ts";
import { accepted, nextLine, startExit } from "./accepted.ts";
import { RUN } from "./run-argument.ts";

export const runResume = defineCommand({
  positionals: { run: RUN },
  options: { follow: { type: "boolean", alias: "f", describe: "Watch the run until it ends" } },
  json: true,
  details:
    "Opens another attempt of a run that was stopped or failed; it goes on from its newest complete checkpoint. One whose " +
    "job was not accepted yet is sent again at once. Ends with 4 when no machine has taken it.",
  handler: async ({ run: word, follow }, context) =>
    inShop(context, async (shop) => {
      const id = runIdOf(shop.store, word);
      const resumed = await resumeRun(shop, id);
      const run = follow ? await followToSuccess(shop, id) : accepted(resumed);
      const next = follow ? [] : [await nextLine(shop, run)];
      context.print.result({ ...run, lock: undefined }, () => [runLine(run), ...next]);
      return startExit(run);
    }),
});
