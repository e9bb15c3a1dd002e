import { runIdOf, runLogs } from "../../../workflow/index.ts";
import { defineCommand } from "../../command.ts";
import { runLine } from "../../run-line.ts";
import { inShop } from "../../shop.ts";
import { RUN } from "./run-argument.ts";

export const runLogsCommand = defineCommand({
  positionals: { run: RUN },
  options: {
    follow: {
      type: "boolean",
      alias: "f",
      describe: "Go on until the run has ended, and look after it meanwhile",
    },
  },
  json: false,
  details:
    "Prints what the program printed, over all attempts, each line once and as it is. A line of dashes stands where another " +
    "attempt begins to speak. Each call begins at the beginning; within -f a broken connection goes on where it was.",
  handler: async ({ run: word, follow }, context) =>
    inShop(context, async (shop) => {
      const run = runIdOf(shop.store, word);
      for await (const { text } of runLogs(shop, { runId: run, follow })) context.print.quote(text);
      if (follow) context.print.line(runLine(shop.store.getRun(run)));
    }),
});
