import { runIdOf, stopRun } from "../../../workflow/index.ts";
import { defineCommand } from "../../command.ts";
import { runLine } from "../../run-line.ts";
import { inShop } from "../../shop.ts";
import { RUN } from "./run-argument.ts";

export const runStop = defineCommand({
  positionals: { run: RUN },
  options: { now: { type: "boolean", describe: "End it without waiting for a save" } },
  json: true,
  details: "Asks the trainer to save a checkpoint and stop. The run can be resumed from it.",
  handler: async ({ run: word, now }, context) =>
    inShop(context, async (shop) => {
      const id = runIdOf(shop.store, word);
      const { run, heldBy } = await stopRun(shop, id, now ? "now" : "graceful");
      context.print.result({ ...run, lock: undefined, heldBy }, () => [
        heldBy === null
          ? runLine(run)
          : `the stop of run ${id} is recorded; who watches it (${heldBy}) acts on it`,
      ]);
    }),
});
