import { spawnSync } from "node:child_process";
import { mkdirSync } from "node:fs";
import { realSuite } from "../../support/real-suite.ts";

const MOUNT = 'mount -t tmpfs -o "size=$1m,mode=0777" tmpfs "$2" && shift 2 && exec "$@"';
const PRIVATE = ["unshare", "--mount", "--propagation", "private", "sh", "-c", MOUNT, "sh"] as const;

/**
 * Command prefix of a daemon for which `folder` is a disk of so many megabytes. The mount is in a namespace of its own: nobody
 * else sees it, and it goes with its last process.
 */
export const smallDisk = (folder: string, megabytes: number): readonly string[] => {
  mkdirSync(folder, { recursive: true });
  return [...PRIVATE, String(megabytes), folder];
};

/** A suite that needs small disks. Where nothing can be mounted it is skipped by name, or fails with UNDERSTUDY_SKIPS=fail. */
export const smallDiskSuite = (name: string, programs: readonly string[], body: () => void): void => {
  const [program, ...words] = PRIVATE;
  const canMount = spawnSync(program, [...words, "1", "/mnt", "true"], { stdio: "ignore" }).status === 0;
  const needed = canMount ? [] : ["a mount in a namespace of its own"];
  realSuite(name, { programs: [...programs, "unshare", ...needed], root: true }, body);
};
