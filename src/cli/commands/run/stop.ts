import { TERMINAL_STATES, type Run } from "../../../track/index.ts";
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
      const { run, heldBy, passedOn } = await stopRun(shop, id, now ? "now" : "graceful");
      context.print.result({ ...run, lock: undefined, heldBy, passedOn }, () =>
        heldBy === null
          ? [runLine(run), ...stopLines(run, passedOn)]
          : [`the stop of run ${id} is recorded; who watches it (${heldBy}) acts on it`],
      );
    }),
});

function stopLines({ id, state }: Run, passedOn: boolean): string[] {
  // These say it themselves.
  if (state === "cancelling" || TERMINAL_STATES.includes(state)) return [];
  const watch = `its end is recorded when somebody watches: understudy run watch ${id}`;
  if (passedOn) return [`its stop is recorded and was passed on to its job; ${watch}`];
  return state === "ambiguous"
    ? [`its stop is recorded, and acted on once it is known whether it has a job; ${watch}`]
    : [
        `its stop is recorded; its job was not seen to run just now, so nothing had to be told to it; ${watch}`,
      ];
}
