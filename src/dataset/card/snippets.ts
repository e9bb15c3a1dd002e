import { SPLITS, type Split } from "../schema.ts";
import type { ShardFacts } from "../shard-facts.ts";

/** How a reader opens the data with three libraries; `repo` is where on the Hub, or a folder with this card. */
export const loadSnippets = (facts: ShardFacts, repo: string): string => {
  const filled = SPLITS.filter((split) => facts.splits[split].shards > 0);
  const split: Split = filled.includes("test") ? "test" : (filled[0] ?? "test");
  const last = String(facts.splits[split].shards).padStart(5, "0");
  return `With Python's \`datasets\` (clips as they are stored; without \`with_format\` it decodes them, which needs \`torchcodec\`):

\`\`\`python
from datasets import load_dataset

data = load_dataset("${repo}")
[row] = data["${split}"].with_format("arrow")[:1].to_pylist()
for turn in row["turns"]:
    print(turn["user_text"], len(turn["user_audio"]["bytes"]), turn["role_text"])
\`\`\`

With DuckDB, which reads the columns that a question needs and no audio:

\`\`\`sql
SELECT role_name, count(*) AS dialogues, sum(num_turns) AS turns
FROM 'hf://datasets/${repo}/data/${split}-*.parquet'
GROUP BY role_name ORDER BY dialogues DESC, role_name;
\`\`\`

With \`hyparquet\` in JavaScript, after a download; one row is read, not the file:

\`\`\`javascript
import { asyncBufferFromFile, parquetReadObjects } from "hyparquet";

const file = await asyncBufferFromFile("data/${split}-00000-of-${last}.parquet");
const [row] = await parquetReadObjects({ file, utf8: false, useOffsetIndex: true, rowStart: 0, rowEnd: 1 });
for (const turn of row.turns) console.log(turn.user_text, turn.user_audio.bytes.length, turn.role_text);
\`\`\``;
};
