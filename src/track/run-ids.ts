import { existsSync } from "node:fs";
import { z } from "zod";
import { openToRead } from "./database.ts";

const Row = z.object({ id: z.string() });

/** Ids of all runs in a store, newest first, without making or changing anything; none where there is no such file. */
export const runIdsIn = (path: string): string[] => {
  if (!existsSync(path)) return [];
  const database = openToRead(path);
  try {
    return database.all(Row, "SELECT id FROM runs ORDER BY created_at DESC, rowid DESC").map(({ id }) => id);
  } finally {
    database.close();
  }
};
