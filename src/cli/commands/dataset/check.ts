import { findSpec, packedFolder, readShardFacts, verifyDataset } from "../../../dataset/index.ts";
import { defineCommand } from "../../command.ts";
import { bytesText, countText } from "../../quantities.ts";
import { gateLines } from "./gate-lines.ts";
import { summaryOf } from "./summary.ts";

export const datasetCheck = defineCommand({
  positionals: { name: { describe: "Data set: datasets/NAME.yaml", complete: "dataset" } },
  options: {},
  json: true,
  details:
    "Hashes every shard against the lock, then compares rows, turns, roles and ids in the shards with it, and says how the gates stood. Tells too when the spec says something else than when it was packed.",
  examples: ["understudy dataset check greenroom"],
  handler: async ({ name }, { print, signal, ...context }) => {
    const project = await context.project();
    const spec = await findSpec(project, name);
    let hashed = 0;
    const onHash = ({ path, bytes }: { readonly path: string; readonly bytes: number }): void => {
      print.progress(`checking ${path}, ${bytesText(bytes)}; ${bytesText(hashed)} checked`);
      hashed += bytes;
    };
    try {
      const lock = await verifyDataset(project, name, { full: true, signal, onHash });
      print.progress("comparing rows, roles and ids with the lock");
      await readShardFacts(lock, packedFolder(project, name), signal);
      const { shards, bytes, dialogues } = summaryOf(lock);
      const specChanged = spec !== undefined && spec.digest !== lock.specDigest;
      const value = { name, verified: true, shards, bytes, dialogues, specChanged, gates: lock.gates };
      print.result(value, () => [
        `${name}: ${countText(shards)} shards, ${bytesText(bytes)}, are what the lock says`,
        `  ${countText(dialogues)} dialogues, each with an id of its own; roles and turns as in the lock`,
        ...lock.gates.flatMap((gate) => gateLines(gate, `understudy dataset show ${name} --json`)),
      ]);
      if (specChanged)
        print.warn(`${spec.file} has changed since ${name} was packed: understudy dataset pack ${name}`);
    } finally {
      print.progress("");
    }
  },
});
