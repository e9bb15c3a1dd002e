import { listCheckpoints, selectCheckpoints } from "../../../checkpoint/index.ts";
import { advanceRun, runIdOf } from "../../../workflow/index.ts";
import { defineCommand } from "../../command.ts";
import { bytesText } from "../../quantities.ts";
import { inShop } from "../../shop.ts";
import { tableLines } from "../../table.ts";
import { RUN } from "../run/run-argument.ts";

export const checkpointList = defineCommand({
  positionals: { run: RUN },
  options: {},
  json: true,
  details: "Complete checkpoints only: one whose save was not finished is not a checkpoint.",
  handler: async ({ run: typed }, context) =>
    inShop(context, async (shop) => {
      const run = runIdOf(shop.store, typed);
      await advanceRun(shop, run, "look");
      const manifests = await listCheckpoints(shop.project, run);
      const { lowestDevLoss, last } = selectCheckpoints(manifests);
      context.print.result(
        { checkpoints: manifests, lowestDevLoss: lowestDevLoss?.id ?? null, last: last?.id ?? null },
        () =>
          manifests.length === 0
            ? [`run ${run} has no complete checkpoint yet`]
            : tableLines({
                title: context.print.style.bold,
                columns: [
                  { title: "checkpoint" },
                  { title: "epoch", align: "right" },
                  { title: "dev loss", align: "right" },
                  { title: "kind" },
                  { title: "size", align: "right" },
                  { title: "" },
                ],
                rows: manifests.map((manifest) => [
                  manifest.id,
                  manifest.epoch.toFixed(2),
                  manifest.metrics.devLoss?.toFixed(4) ?? "",
                  manifest.kind,
                  bytesText(manifest.files.reduce((sum, file) => sum + file.bytes, 0)),
                  [manifest === lowestDevLoss ? "lowest dev loss" : "", manifest === last ? "last" : ""]
                    .filter((word) => word !== "")
                    .join(", "),
                ]),
              }),
      );
    }),
});
