import { truncate, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import type { Project } from "../../src/core/project.ts";
import {
  datasetCard,
  loadSpec,
  packDataset,
  packedFolder,
  readLock,
  type CardOptions,
  type DatasetLock,
} from "../../src/dataset/index.ts";
import { licenceTags } from "../../src/dataset/card/licence.ts";
import { code, inline, paragraph } from "../../src/dataset/card/markdown.ts";
import { makeProject, projectWith, type Corpus, type RawRole } from "./corpus.ts";

const roleOf = (corpus: Corpus, stem: string): RawRole => {
  const role = corpus.roles.find((found) => found.stem === stem);
  if (!role) throw new Error(`no role ${stem}`);
  return role;
};
const optionsOf = async (project: Project): Promise<CardOptions> => ({
  lock: await readLock(project, "small"),
  spec: (await loadSpec(project, "small")).spec,
  folder: packedFolder(project, "small"),
});
const packed = async (change?: (corpus: Corpus) => void): Promise<CardOptions> => {
  const project = await projectWith(change);
  await packDataset({ project, name: "small" });
  return optionsOf(project);
};
const frontOf = (text: string): unknown => {
  const [, front = ""] = /^---\n([\s\S]*?)\n---\n/.exec(text) ?? [];
  return parse(front, { strict: true, uniqueKeys: true });
};
const shard = ({ lock, folder }: CardOptions, split: keyof DatasetLock["splits"]): string =>
  join(folder, lock.splits[split].shards[0]?.path ?? "");

describe("the data set card", () => {
  it("has the counts of the Parquet footers in its front matter", async () => {
    const options = await packed((corpus) => (corpus.spec["shards"] = { shardBytes: 12_000 }));
    const { text } = await datasetCard(options);
    expect(frontOf(text)).toMatchObject({
      license: "cc0-1.0",
      language: ["en", "zh"],
      size_categories: ["n<1K"],
      configs: [
        {
          config_name: "default",
          data_files: [
            { split: "train", path: "data/train-*" },
            { split: "dev", path: "data/dev-*" },
            { split: "ood", path: "data/ood-*" },
            { split: "test", path: "data/test-*" },
          ],
        },
      ],
      dataset_info: {
        splits: [
          { name: "train", num_examples: 10 },
          { name: "dev", num_examples: 2 },
          { name: "ood", num_examples: 6 },
          { name: "test", num_examples: 12 },
        ],
        download_size: Object.values(options.lock.splits)
          .flatMap(({ shards }) => shards)
          .reduce((sum, { bytes }) => sum + bytes, 0),
      },
    });
    expect(options.lock.splits.test.shards.length).toBeGreaterThan(1);
  });

  it("is the same for the same data, and leaves empty splits out", async () => {
    const change = (corpus: Corpus): void => {
      corpus.spec["splits"] = { by: "spec", seed: 7, heldOutRoles: ["hutao"], devPerRole: 0 };
    };
    const options = await packed(change);
    const card = await datasetCard(options);
    expect(await datasetCard(await packed(change))).toEqual(card);
    expect(card.text).not.toContain("data/dev-*");
    for (const { path } of card.plots) expect(card.text).toContain(`](${path})`);
  });

  it("shows names with quotes, pipes, tags and Chinese as they are, and breaks nothing by them", async () => {
    const name = `"Q" | <b>_it_</b> 胡\u202e桃 \`$x$\` [a](b) & co`;
    const options = await packed((corpus) => {
      roleOf(corpus, "hutao").displayName = name;
      corpus.spec["description"] = "- a list?\n# or: a heading | 'quoted' {x}";
      corpus.spec["licence"] = 'Ask "them": no | yes\n---\nlicense: mit';
    });
    const { text, plots } = await datasetCard(options);
    expect(frontOf(text)).toMatchObject({ license: "other", license_name: "see-the-card" });
    const [, row = ""] = /^(\| .*`hutao`.*)$/m.exec(text) ?? [];
    expect(row).toContain(
      String.raw`"Q" \| \<b\>\_it\_\</b\> 胡 桃 \`\$x\$\` \[a\](b) \& co | ${"`hutao`"} | zh |`,
    );
    expect(row.match(/(?<!\\)\|/g)).toHaveLength(11);
    expect(text).toContain(String.raw`\- a list? \# or: a heading \| 'quoted' \{x\}`);
    expect(text).not.toContain("\u202e");
    const roles = plots.find(({ path }) => path === "card/roles.svg")?.svg ?? "";
    expect(roles).toContain("&lt;b&gt;");
    expect(roles).not.toMatch(/<b>|zr\d/);
  });

  it("lists what was left out and why gates were allowed", async () => {
    const project = await projectWith((corpus) => {
      for (const [path, content] of corpus.files)
        if (path.includes("train/single_speech/Thor/1_0_role")) corpus.files.set(path, content.slice(0, 50));
      corpus.spec["expected"] = { roles: 5 };
    });
    await packDataset({ project, name: "small", allow: { expected_counts: "a test | of mine" } });
    const { text } = await datasetCard(await optionsOf(project));
    expect(text).toMatch(/^\| `audio_truncated` \| 1 \|$/m);
    expect(text).toMatch(
      /^\| `expected_counts` \| \*\*violated, and allowed\*\* \| .* \| a test \\\| of mine \|$/m,
    );
    expect(text).toContain("- Violated and allowed: `expected_counts`");
  });
});

describe("a card of shards that are not what the lock says", () => {
  it("is refused with every difference", async () => {
    const options = await packed();
    const { lock } = options;
    const roles = lock.roles.map((role) => {
      if (role.id === "hutao") return { ...role, rows: { ...role.rows, ood: 7 } };
      return role.id === "prof_dorr" ? { ...role, id: "stranger" } : role;
    });
    const other: DatasetLock = {
      ...lock,
      splits: { ...lock.splits, train: { ...lock.splits.train, rows: 11, turns: 99 } },
      roles,
    };
    await expect(datasetCard({ ...options, lock: other })).rejects.toMatchObject({
      code: "SHARDS_DISAGREE",
      message: expect.stringMatching(
        /train has 10 rows, the lock says 11\n.*train has \d+ turns, the lock says 99[\s\S]*rows of stranger[\s\S]*train has rows of prof_dorr, the lock knows no such role[\s\S]*ood has 6 rows of hutao, the lock says 7/,
      ),
    });
  });

  it("is refused when a row stands in two shards, though every count is right", async () => {
    const options = await packed();
    const { lock } = options;
    const twice: DatasetLock = {
      ...lock,
      splits: { ...lock.splits, ood: lock.splits.test },
    };
    await expect(datasetCard({ ...options, lock: twice })).rejects.toThrow(
      /-[0-9a-f]{12} stands in data\/ood-|stands in data\/test-/,
    );
  });

  it("is refused by name when a shard is cut or none", async () => {
    const options = await packed();
    await truncate(shard(options, "dev"), 1000);
    await expect(datasetCard(options)).rejects.toMatchObject({ code: "SHARD_UNREADABLE" });
    await writeFile(shard(options, "dev"), "");
    await expect(datasetCard(options)).rejects.toMatchObject({ code: "SHARD_UNREADABLE" });
    const project = await makeProject();
    await expect(datasetCard({ ...options, folder: project.root })).rejects.toMatchObject({
      code: "SHARD_MISSING",
    });
  });
});

describe("text of others in Markdown", () => {
  it.each([
    ["1. first", String.raw`1\. first`],
    ["+ more", String.raw`\+ more`],
    ["# head", String.raw`\# head`],
    ["=== x", String.raw`\=== x`],
    ["a\u0000b\nc", "a b c"],
  ])("%j begins no list and no heading", (text, expected) => {
    expect(paragraph(text)).toBe(expected);
  });

  it("may hold any characters as code", () => {
    expect([code("a"), code("a`b"), code("``|")]).toEqual(["`a`", "`` a`b ``", "``` ``¦ ```"]);
    expect(inline("\\")).toBe(String.raw`\\`);
  });
});

describe("a licence", () => {
  it.each([
    ["CC0-1.0", { license: "cc0-1.0" }],
    ["Apache-2.0", { license: "apache-2.0" }],
    ["GPL-3.0-or-later", { license: "gpl-3.0" }],
    ["ODbL-1.0", { license: "odbl" }],
    ["Elastic-2.0", { license: "other", license_name: "elastic-2.0" }],
    ["See the publisher's repository", { license: "other", license_name: "see-the-card" }],
  ])("%s is tagged as the Hub wants it", (licence, tags) => {
    expect(licenceTags(licence)).toEqual(tags);
  });
});
