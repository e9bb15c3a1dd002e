import { readdir } from "node:fs/promises";
import { basename, dirname, sep } from "node:path";
import { UserError } from "../../core/errors.ts";
import { compare } from "../text.ts";
import { statOf } from "./manifest.ts";
import { poolOf } from "./plain-record.ts";
import type { Found } from "./source.ts";

export interface ParquetFiles {
  /** What the names are relative to. */
  readonly base: string;
  /** Sorted, with forward slashes. */
  readonly names: readonly string[];
}

/** The Parquet files of a source: one file, or all below a folder. UserError `SOURCE_MISSING`. */
export const parquetFiles = async (path: string): Promise<ParquetFiles> => {
  const found = await statOf(path);
  if (!found.isDirectory()) return { base: dirname(path), names: [basename(path)] };
  const names = (await readdir(path, { recursive: true }))
    .map((name) => name.split(sep).join("/"))
    .filter((name) => name.endsWith(".parquet") && !name.split("/").some((part) => part.startsWith(".")));
  if (names.length === 0)
    throw new UserError("SOURCE_MISSING", `There is no Parquet file below ${path}`, {
      hint: "is the corpus downloaded, and does source.path of the data set point at it?",
    });
  return { base: path, names: names.toSorted(compare) };
};

/**
 * Pool of a file, by the name that the Hub takes for its split: `data/test-00000-of-00002.parquet`, `test/0.parquet`.
 * A table whose rows say their split themselves does not need it.
 */
export const poolOfFile = (name: string): Found["pool"] => {
  for (const part of name.split("/").toReversed()) {
    const pool = poolOf(/^[a-z]+/.exec(part.toLowerCase())?.[0] ?? "");
    if (pool) return pool;
  }
  return "train";
};
