import { advanceRun, outlook } from "../../../workflow/index.ts";
import { defineCommand } from "../../command.ts";
import { inShop } from "../../shop.ts";
import { tableLines } from "../../table.ts";

export const runList = defineCommand({
  positionals: {},
  options: { all: { type: "boolean", describe: "Evaluation jobs too, not only training runs" } },
  json: true,
  details: "Looks at every run that has not ended first, so that what it prints is what is true now.",
  handler: async ({ all }, context) =>
    inShop(context, async (shop) => {
      for (const { id } of shop.store.listRuns()) await advanceRun(shop, id);
      const runs = shop.store.listRuns(all ? {} : { kind: "train" });
      const now = context.clock.now();
      const rows = runs.map((run) => ({
        ...run,
        lock: undefined,
        next: outlook(run, now),
        attempts: shop.store.attempts(run.id).length,
      }));
      context.print.result(rows, () =>
        rows.length === 0
          ? ["no runs yet; start one: understudy run start recipes/quickstart.yaml"]
          : tableLines({
              title: context.print.style.bold,
              columns: [
                { title: "run" },
                { title: "kind" },
                { title: "state" },
                { title: "attempts", align: "right" },
                { title: "reason", most: 60 },
                { title: "next", most: 70 },
              ],
              rows: rows.map((row) => [
                row.id,
                row.kind,
                row.state,
                String(row.attempts),
                row.reason,
                row.next,
              ]),
            }),
      );
    }),
});
