import { messageOf } from "../../../core/errors.ts";
import { advanceRun, outlook } from "../../../workflow/index.ts";
import { defineCommand } from "../../command.ts";
import { inShop } from "../../shop.ts";
import { tableLines } from "../../table.ts";

export const runList = defineCommand({
  positionals: {},
  options: { all: { type: "boolean", describe: "Evaluation jobs too, not only training runs" } },
  json: true,
  details:
    "Looks at every run that has not ended first, so that what it prints is what is true now. It starts nothing: whoever " +
    "watches a run (run logs -f, quickstart) does.",
  handler: async ({ all }, context) =>
    inShop(context, async (shop) => {
      const troubles = new Map<string, string>();
      for (const { id } of shop.store.listRuns()) {
        // One run that cannot be looked at must not hide the others.
        await advanceRun(shop, id, "look").catch((error: unknown) => troubles.set(id, messageOf(error)));
      }
      const runs = shop.store.listRuns(all ? {} : { kind: "train" });
      const now = context.clock.now();
      const rows = runs.map((run) => ({
        ...run,
        lock: undefined,
        next: outlook(run, now, shop.store.attempts(run.id).at(-1)),
        attempts: shop.store.attempts(run.id).length,
        trouble: troubles.get(run.id) ?? null,
      }));
      context.print.result(rows, () =>
        rows.length === 0
          ? ["no runs yet; start one: understudy run start recipes/quickstart.yaml"]
          : tableLines({
              title: context.print.style.bold,
              width: context.columns,
              columns: [
                { title: "run" },
                { title: "recipe", most: 30 },
                { title: "kind" },
                { title: "state" },
                { title: "attempts", align: "right" },
                { title: "reason", below: true },
                { title: "next", below: true },
              ],
              rows: rows.map((row) => [
                row.id,
                row.kind === "train" ? row.name : "",
                row.kind,
                row.state,
                String(row.attempts),
                row.reason,
                row.trouble === null ? row.next : `it could not be looked at: ${row.trouble}`,
              ]),
            }),
      );
    }),
});
