import { packDataset, SPLITS, type PackProgress, type PackResult } from "../../../dataset/index.ts";
import { defineCommand } from "../../command.ts";
import { countText } from "../../quantities.ts";
import { summaryOf } from "./summary.ts";

export const datasetPack = defineCommand({
  positionals: { name: { describe: "Data set: datasets/NAME.yaml", complete: "dataset" } },
  options: {},
  json: true,
  details:
    "Same corpus and spec, same bytes. Stopped at any point, the same command goes on after the last finished shard.",
  examples: ["understudy dataset pack greenroom"],
  handler: async ({ name }, context) => {
    const { print, signal, clock } = context;
    const result = await packDataset({
      project: await context.project(),
      name,
      signal,
      clock,
      onProgress: (progress) => print.progress(progressText(name, progress)),
    });
    print.progress("");
    const { lock, lockPath, reused, lockChanged } = result;
    const { byReason } = lock.drops;
    const summary = summaryOf(lock);
    print.result({ name, lockPath, reused, lockChanged, dropped: byReason, ...summary }, () => [
      headline(name, result),
      ...SPLITS.map((split) => `  ${split.padEnd(6)}${countText(lock.splits[split].rows)} dialogues`),
      `lock: ${lockPath}`,
    ]);
    const dropped = Object.values(byReason).reduce((sum, count) => sum + count, 0);
    if (dropped > 0) print.warn(`${countText(dropped)} dropped; see why: understudy dataset show ${name}`);
    if (lockChanged)
      print.warn("the lock differs from the one before: recipes that used it now train on other data");
  },
});

function headline(name: string, { reused, shardsReused }: PackResult): string {
  if (reused) return `${name} is packed already: nothing has changed`;
  return shardsReused === 0
    ? `${name} is packed`
    : `${name} is packed; ${countText(shardsReused)} shards were there already`;
}

function progressText(name: string, { phase, done, total }: PackProgress): string {
  const of = total === null ? "" : ` of ${countText(total)}`;
  return `${phase === "check" ? "checking" : "packing"} ${name}: ${countText(done)}${of} dialogues`;
}
