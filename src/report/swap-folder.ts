import { randomBytes } from "node:crypto";
import { mkdir, readdir, rename, rm, stat } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { systemCode } from "../core/errors.ts";
import { exists } from "../core/files.ts";

const STALE_AFTER = 3_600_000;

/**
 * Fills a new folder beside `folder` and puts it in its place: a reader finds the old content or the new one. Killed at any
 * point, nothing is lost: what had been moved aside is brought back, or cleared away, by the next call.
 */
export const swapFolder = async (folder: string, fill: (staged: string) => Promise<void>): Promise<void> => {
  const parent = dirname(folder);
  await mkdir(parent, { recursive: true });
  await bringBack(folder);
  const suffix = randomBytes(4).toString("hex");
  const staged = join(parent, `.${basename(folder)}.new-${suffix}`);
  const replaced = join(parent, `.${basename(folder)}.old-${suffix}`);
  await mkdir(staged);
  try {
    await clearLeftovers(folder, (await stat(staged)).mtimeMs);
    await fill(staged);
    await putInPlace(staged, { folder, replaced });
  } catch (error) {
    await rm(staged, { recursive: true, force: true });
    throw error;
  }
  await rm(replaced, { recursive: true, force: true });
};

const ATTEMPTS = 5;

async function putInPlace(
  staged: string,
  { folder, replaced }: { readonly folder: string; readonly replaced: string },
): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    await rm(replaced, { recursive: true, force: true });
    await rename(folder, replaced).catch(unless("ENOENT"));
    try {
      await rename(staged, folder);
      return;
    } catch (error) {
      // Another writer was quicker: its folder is replaced like any other.
      const taken = ["ENOTEMPTY", "EEXIST"].includes(systemCode(error) ?? "");
      if (!taken || attempt >= ATTEMPTS) throw error;
    }
  }
}

async function bringBack(folder: string): Promise<void> {
  if (await exists(folder)) return;
  const [old] = await leftovers(folder, ["old"]);
  if (old !== undefined) await rename(old, folder).catch(unless("ENOENT"));
}

// Young leftovers may belong to a writer at work. `now` comes from the same filesystem, so no clock is asked.
async function clearLeftovers(folder: string, now: number): Promise<void> {
  for (const path of await leftovers(folder, ["new", "old"])) {
    const age = await stat(path).then(({ mtimeMs }) => now - mtimeMs, unless("ENOENT"));
    if ((age ?? 0) > STALE_AFTER) await rm(path, { recursive: true, force: true });
  }
}

async function leftovers(folder: string, kinds: readonly string[]): Promise<readonly string[]> {
  const names = await readdir(dirname(folder));
  return names
    .filter((name) => kinds.some((kind) => name.startsWith(`.${basename(folder)}.${kind}-`)))
    .toSorted()
    .map((name) => join(dirname(folder), name));
}

const unless =
  (code: string) =>
  (error: unknown): undefined => {
    if (systemCode(error) !== code) throw error;
  };
