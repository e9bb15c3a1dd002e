import { isAbsolute, join, posix } from "node:path";
import { readIfExists } from "../../core/files.ts";
import { digestOf } from "../../core/hash.ts";
import { lockNames } from "../prepare-python.ts";
import type { FarProfile } from "../profile.ts";

/** What an environment of a far machine is for; a machine that is rented for its GPUs must not train on its CPU by accident. */
export const farDevice = ({ device }: Pick<FarProfile, "device">): "cpu" | "cuda" =>
  device === "cpu" ? "cpu" : "cuda";

/**
 * Folder of the payload's environment on a far machine, under the digest of all that goes into it; null where an image brings its
 * own. `payload`: its folder on this machine.
 */
export const environmentFolder = async (profile: FarProfile, payload: string): Promise<string | null> => {
  if (profile.container !== undefined) return null;
  const names = lockNames(farDevice(profile));
  const texts = await Promise.all(names.map(async (name) => (await readIfExists(join(payload, name))) ?? ""));
  return environmentFolderOf(profile, texts);
};

/** The same from the texts of the lock files, in the order of `lockNames`. */
export const environmentFolderOf = (profile: FarProfile, locks: readonly string[]): string => {
  const { python, paths, setup, wheelhouse = null } = profile;
  const device = farDevice(profile);
  // A bare name means another interpreter after another `module load`.
  const through = isAbsolute(python) ? [] : setup;
  const key = { locks, device, python, through, wheelhouse };
  return posix.join(paths.env, digestOf(key).slice(0, 16));
};
