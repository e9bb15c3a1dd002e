import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { openShard, type Shard } from "../src/dataset/index.ts";
import { median } from "./bench-arguments.ts";

/** Looks rows up in the largest train shard of a folder, one after the other, and reads its text. */
export const lookInside = async (
  folder: string,
): Promise<{ readonly bytes: number; readonly milliseconds: number; readonly textShare: number }> => {
  const sizes = readdirSync(folder)
    .filter((name) => name.startsWith("train"))
    .map((name) => ({ path: join(folder, name), bytes: statSync(join(folder, name)).size }));
  const largest = sizes.toSorted((a, b) => b.bytes - a.bytes)[0];
  if (!largest) throw new Error(`${folder} has no train shard`);
  const shard = await openShard(largest.path);
  const ids = await shard.ids();
  await lookUps(shard, ids.slice(0, 10));
  const milliseconds = median(
    await lookUps(
      shard,
      ids.filter((_, index) => index % Math.ceil(ids.length / 60) === 0),
    ),
  );
  const before = readSoFar();
  let rows = 0;
  for await (const _ of shard.texts()) rows++;
  const textShare = (readSoFar() - before) / largest.bytes;
  if (rows !== shard.rows) throw new Error("rows are missing");
  await shard.close();
  return { bytes: largest.bytes, milliseconds, textShare };
};

async function lookUps(shard: Shard, ids: readonly string[]): Promise<number[]> {
  const times: number[] = [];
  for (const id of ids) {
    const start = performance.now();
    const number = await shard.find(id);
    const row = number === undefined ? undefined : await shard.row(number);
    times.push(performance.now() - start);
    if (row?.id !== id) throw new Error(`${id} was not found`);
  }
  return times;
}

// What the system counts as read by this process (Linux).
function readSoFar(): number {
  return Number(/^rchar: (\d+)$/m.exec(readFileSync("/proc/self/io", "utf8"))?.[1]);
}
