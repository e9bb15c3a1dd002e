import { constants } from "node:fs";
import { access, mkdir, stat, statfs } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { systemCode, systemText, UserError } from "./errors.ts";
import { exists } from "./files.ts";

/** The folders of a project: four nouns that people edit, and one for state. All paths absolute. */
export interface Project {
  readonly root: string;
  readonly recipes: string;
  readonly launchers: string;
  readonly datasets: string;
  readonly checkpoints: string;
  /** Run state: database, journals, environments, caches, reports. Must be on a local disk. */
  readonly state: string;
}

const NOUNS = ["recipes", "launchers", "datasets", "checkpoints"] as const;

/** The project that `folder` lies in: the nearest parent with the four noun folders. UserError `PROJECT_MISSING`. */
export const findProject = async (folder: string, stateOverride?: string): Promise<Project> => {
  for (let root = resolve(folder); ; root = dirname(root)) {
    const present = await Promise.all(NOUNS.map((noun) => exists(join(root, noun))));
    if (present.every(Boolean)) return projectAt(root, stateOverride);
    if (dirname(root) === root) {
      throw new UserError("PROJECT_MISSING", `${resolve(folder)} is not inside a project`, {
        hint: `a project is a folder with ${NOUNS.join(", ")}; change into one`,
      });
    }
  }
};

/** The project at exactly this root. */
export const projectAt = (root: string, stateOverride?: string): Project => ({
  root,
  recipes: join(root, "recipes"),
  launchers: join(root, "launchers"),
  datasets: join(root, "datasets"),
  checkpoints: join(root, "checkpoints"),
  state: stateOverride ? resolve(stateOverride) : join(root, ".understudy"),
});

// Magic numbers of statfs(2): locks and fsync mean little there, and two hosts would share one journal.
const NETWORK_FILESYSTEMS: Readonly<Record<number, string>> = {
  0x6969: "NFS",
  0x517b: "SMB",
  0xff534d42: "CIFS",
  0xfe534d42: "SMB2",
  0x0bd00bd0: "Lustre",
  0x47504653: "GPFS",
  0x19830326: "BeeGFS",
  0x00c36400: "Ceph",
  0x65735546: "FUSE",
  0x01021997: "9P",
  0x5346414f: "AFS",
  0x73757245: "Coda",
};

/**
 * Makes the state folder and refuses one that cannot be used: UserErrors `STATE_UNWRITABLE`, and `STATE_ON_NETWORK` for a
 * network filesystem. `filesystemType` is an argument so that a test can stand in for a mounted NFS.
 */
export const prepareState = async (
  project: Project,
  filesystemType: (path: string) => Promise<number> = async (path) => (await statfs(path)).type,
): Promise<void> => {
  try {
    await makeFolder(project.state);
    await access(project.state, constants.W_OK | constants.X_OK);
  } catch (error) {
    throw new UserError(
      "STATE_UNWRITABLE",
      `The state folder ${project.state} cannot be made or written: ${systemText(error)}`,
      { hint: "set UNDERSTUDY_STATE to a folder on a local disk that you may write", cause: error },
    );
  }
  const name = NETWORK_FILESYSTEMS[await filesystemType(project.state)];
  if (name !== undefined) {
    throw new UserError(
      "STATE_ON_NETWORK",
      `The state folder ${project.state} is on a network filesystem (${name})`,
      {
        hint: "set UNDERSTUDY_STATE to a folder on a local disk",
      },
    );
  }
};

// Not mkdir's own `recursive`: where a filesystem refuses with "no such file" (/proc, a read-only mount), that one
// tries for ever or names the wrong fault.
async function makeFolder(path: string): Promise<void> {
  try {
    if ((await stat(path)).isDirectory()) return;
    throw new UserError("STATE_UNWRITABLE", "a file is in its place");
  } catch (error) {
    if (systemCode(error) !== "ENOENT") throw error;
  }
  if (dirname(path) !== path) await makeFolder(dirname(path));
  try {
    await mkdir(path);
  } catch (error) {
    if (systemCode(error) !== "EEXIST") throw error;
  }
}

/** Free bytes for an ordinary user on the filesystem of `path`. */
export const freeBytes = async (path: string): Promise<number> => {
  const { bavail, bsize } = await statfs(path);
  return bavail * bsize;
};
