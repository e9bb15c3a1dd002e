import { stringify } from "yaml";
import { SPLITS, type DatasetLock, type DatasetSpec, type Language } from "../schema.ts";
import type { ShardFacts } from "../shard-facts.ts";
import { cardFeatures } from "./features.ts";
import { licenceTags } from "./licence.ts";

const SIZES: readonly (readonly [below: number, category: string])[] = [
  [1e3, "n<1K"],
  [1e4, "1K<n<10K"],
  [1e5, "10K<n<100K"],
  [1e6, "100K<n<1M"],
  [1e7, "1M<n<10M"],
];
const LANGUAGES: readonly Language[] = ["en", "zh"];

export interface CardParts {
  readonly lock: DatasetLock;
  readonly spec: DatasetSpec;
  readonly facts: ShardFacts;
}

/** The YAML between the dashes: what the Hub, its viewer and `datasets` read. Numbers are those of the Parquet footers. */
export const frontMatter = ({ lock, spec, facts }: CardParts): string => {
  const filled = SPLITS.filter((split) => facts.splits[split].shards > 0);
  const rows = sum(filled.map((split) => facts.splits[split].rows));
  const head = {
    pretty_name: lock.name,
    ...licenceTags(spec.licence),
    language: LANGUAGES.filter((language) => lock.roles.some((role) => role.language === language)),
    task_categories: ["audio-text-to-text", "audio-to-audio"],
    tags: ["speech", "role-play", "dialogue"],
    size_categories: [SIZES.find(([below]) => rows < below)?.[1] ?? "n>10M"],
    configs: [
      {
        config_name: "default",
        data_files: filled.map((split) => ({ split, path: `data/${split}-*` })),
      },
    ],
    dataset_info: {
      features: cardFeatures(facts.footer),
      splits: filled.map((split) => ({
        name: split,
        num_bytes: facts.splits[split].uncompressedBytes,
        num_examples: facts.splits[split].rows,
      })),
      download_size: sum(filled.map((split) => facts.splits[split].fileBytes)),
      dataset_size: sum(filled.map((split) => facts.splits[split].uncompressedBytes)),
    },
  };
  return `---\n${stringify(head, { lineWidth: 0 })}---\n`;
};

const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);
