import { stringify } from "yaml";
import { SPLITS, type DatasetLock } from "../schema.ts";

/** The least card with which Hugging Face `datasets` and the viewer find the splits. The same lock gives the same text. */
export const plainCard = (lock: DatasetLock): string => {
  const splits = SPLITS.filter((split) => lock.splits[split].shards.length > 0);
  const head = {
    pretty_name: lock.name,
    configs: [
      {
        config_name: "default",
        data_files: splits.map((split) => ({ split, path: `data/${split}-*` })),
      },
    ],
  };
  const rows = splits.map(
    (split) => `| ${split} | ${lock.splits[split].rows} | ${lock.splits[split].turns} |`,
  );
  const table = ["| split | dialogues | turns |", "|---|---:|---:|", ...rows];
  return `---\n${stringify(head)}---\n\n# ${lock.name}\n\n${table.join("\n")}\n`;
};
