import type { DatasetLock, DatasetSpec } from "../schema.ts";
import { readShardFacts } from "../shard-facts.ts";
import { frontMatter, type CardParts } from "./front-matter.ts";
import { licenceSection, limitSection, makingSection } from "./making.ts";
import { drawPlots, type CardPlot } from "./plots.ts";
import { aboutSection, roleSection, splitSection, statisticsSection } from "./sections.ts";
import { loadSnippets } from "./snippets.ts";

export interface CardOptions {
  readonly lock: DatasetLock;
  /** The spec that it was packed from. */
  readonly spec: DatasetSpec;
  /** Folder that the lock's shard paths are relative to. */
  readonly folder: string;
  /** OWNER/NAME on the Hub, for the examples. Default: OWNER/ and the data set's name. */
  readonly repo?: string;
  readonly signal?: AbortSignal;
}

export interface DatasetCard {
  /** README.md. */
  readonly text: string;
  /** Files beside it that it shows: the Hub renders images of a card from files, not from data inside it. */
  readonly plots: readonly CardPlot[];
}

/**
 * The data set card, from the Parquet footers and the lock: the same shards, lock and spec give the same bytes. UserErrors
 * `SHARDS_DISAGREE` when shards and lock do not say the same, and those of `openShard`.
 */
export const datasetCard = async ({
  lock,
  spec,
  folder,
  repo,
  signal,
}: CardOptions): Promise<DatasetCard> => {
  const facts = await readShardFacts(lock, folder, signal);
  const parts: CardParts = { lock, spec, facts };
  const text = [
    frontMatter(parts),
    aboutSection(parts),
    splitSection(parts),
    roleSection(parts),
    `## How to load\n\n${loadSnippets(facts, repo ?? `OWNER/${lock.name}`)}`,
    statisticsSection(parts),
    makingSection(parts),
    limitSection(parts),
    licenceSection(parts),
  ].join("\n\n");
  return { text: `${text}\n`, plots: await drawPlots(lock) };
};
