import { loadSpec, verifyDataset } from "../../../dataset/index.ts";
import { defineCommand } from "../../command.ts";
import { bytesText, countText } from "../../quantities.ts";
import { summaryOf } from "./summary.ts";

export const datasetCheck = defineCommand({
  positionals: { name: { describe: "Data set: datasets/NAME.yaml", complete: "dataset" } },
  options: {},
  json: true,
  details: "Hashes every shard. Tells too when the spec says something else than when it was packed.",
  examples: ["understudy dataset check greenroom"],
  handler: async ({ name }, { print, ...context }) => {
    const project = await context.project();
    const { digest, file } = await loadSpec(project, name);
    const lock = await verifyDataset(project, name, { full: true });
    const { shards, bytes } = summaryOf(lock);
    const specChanged = digest !== lock.specDigest;
    print.result({ name, verified: true, shards, bytes, specChanged }, () => [
      `${name}: ${countText(shards)} shards, ${bytesText(bytes)}, are what the lock says`,
    ]);
    if (specChanged)
      print.warn(`${file} has changed since ${name} was packed: understudy dataset pack ${name}`);
  },
});
