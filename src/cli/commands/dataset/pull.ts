import { pullDataset } from "../../../dataset/index.ts";
import { defineCommand } from "../../command.ts";
import { bytesText, countText } from "../../quantities.ts";
import { showHubProgress } from "./hub-progress.ts";

export const datasetPull = defineCommand({
  positionals: { repo: { describe: "Repository on the Hugging Face Hub: OWNER/NAME" } },
  options: {
    revision: { type: "string", value: "REVISION", describe: "Branch, tag or commit; default main" },
    as: { type: "string", value: "NAME", describe: "Name here; default the one it was packed under" },
  },
  json: true,
  details:
    "Fetches a data set that `dataset push` published, and compares every shard with its SHA-256. A private repository needs HF_TOKEN; HF_ENDPOINT names another Hub. Stopped at any point, the same command goes on. datasets/NAME.hub.json records the commit: pull that one again for the same bytes.",
  examples: [
    "understudy dataset pull my-name/greenroom",
    "understudy dataset pull my-name/greenroom --as greenroom-may",
  ],
  handler: async ({ repo, revision, as }, context) => {
    const { print, signal, clock, environment } = context;
    const result = await pullDataset({
      project: await context.project(),
      repo,
      ...(revision === undefined ? {} : { revision }),
      ...(as === undefined ? {} : { as }),
      token: environment["HF_TOKEN"],
      endpoint: environment["HF_ENDPOINT"],
      fetch: context.fetch,
      clock,
      signal,
      onProgress: showHubProgress(context, repo),
    });
    print.progress("");
    const { lock: _, ...shown } = result;
    const { name, downloaded, reused, bytes, lockPath } = result;
    print.result(shown, () => [
      downloaded === 0
        ? `${name} is here already: all ${countText(reused)} shards are right`
        : `${name}: fetched ${countText(downloaded)} shards (${bytesText(bytes)})${reused > 0 ? `; ${countText(reused)} were here already` : ""}`,
      `commit ${result.revision}`,
      `lock: ${lockPath}`,
      `look inside: understudy dataset show ${name}`,
    ]);
  },
});
