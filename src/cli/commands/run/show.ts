import { advanceRun, lockOf, outlook } from "../../../workflow/index.ts";
import { defineCommand } from "../../command.ts";
import { runLine } from "../../run-line.ts";
import { inShop } from "../../shop.ts";
import { pairLines, tableLines } from "../../table.ts";

export const runShow = defineCommand({
  positionals: { run: { describe: "Run id" } },
  options: {},
  json: true,
  handler: async ({ run: id }, context) =>
    inShop(context, async (shop) => {
      const { run } = await advanceRun(shop, id, "look");
      const lock = lockOf(run);
      const attempts = shop.store.attempts(id);
      const devLoss = shop.store.series(id, "dev/loss");
      const next = outlook(run, context.clock.now(), attempts.at(-1));
      context.print.result({ ...run, lock, attempts, devLoss, next }, () => [
        runLine(run),
        ...pairLines([
          ["next", next],
          ["kind", run.kind],
          ...(run.kind === "train" ? [["recipe", run.name] as const] : []),
          ["profile", `${lock.profileName} (${lock.job.profile.kind})`],
          ["folder", lock.job.runFolder],
          ["created", run.createdAt],
          ["last seen", run.lastSeenAt ?? "never"],
          ...(run.recipeDigest === null ? [] : [["recipe digest", run.recipeDigest] as const]),
          ...(run.parentId === null ? [] : [["belongs to", run.parentId] as const]),
        ]),
        "",
        ...tableLines({
          title: context.print.style.bold,
          columns: [
            { title: "attempt", align: "right" },
            { title: "started" },
            { title: "ended" },
            { title: "how" },
          ],
          rows: attempts.map((attempt) => [
            String(attempt.number),
            attempt.startedAt,
            attempt.endedAt ?? "",
            attempt.reason ?? "open",
          ]),
        }),
        ...(devLoss.length === 0
          ? []
          : [
              "",
              ...tableLines({
                title: context.print.style.bold,
                columns: [
                  { title: "step", align: "right" },
                  { title: "dev loss", align: "right" },
                ],
                rows: devLoss.map(({ step, value }) => [String(step), value.toFixed(4)]),
              }),
            ]),
      ]);
    }),
});
