import { availableParallelism } from "node:os";
import { join } from "node:path";
import type { Clock } from "../core/clock.ts";
import { InternalError, UserError } from "../core/errors.ts";
import { readIfExists } from "../core/files.ts";
import { secretsFrom, type Secrets } from "../core/secrets.ts";
import type { Launcher } from "./launcher.ts";
import { probeJob, profileChecks } from "./probe-job.ts";
import type { LauncherProfile } from "./profile.ts";

/** What a launcher needs of the world around it. */
export interface LaunchWorld {
  readonly clock: Clock;
  /** Of the person who launches: PATH, HOME and secrets are taken from it, by name. */
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Folder of the payload; its `wrapper.sh` is sent along with every attempt. */
  readonly payload: string;
  /** Told while something is sent to, or made on, the far machine; printing is the caller's business. */
  readonly onProgress?: OnLaunchProgress;
  /** Ends what is sent and waited for before a job is started; a submission rejects with its reason then. */
  readonly signal?: AbortSignal;
}

/** What a launcher says while it works. `done` and `total` are bytes of uploads, or whatever `text` counts. */
export interface LaunchProgress {
  readonly kind: "upload" | "environment" | "note";
  readonly text: string;
  readonly done?: number;
  readonly total?: number;
}
export type OnLaunchProgress = (event: LaunchProgress) => void;

/** The world as an opened launcher sees it. */
export interface OpenWorld extends LaunchWorld {
  readonly secrets: Secrets;
  readonly wrapper: string;
  /** What each job of a chain runs; absent or empty where the payload has none. */
  readonly link?: string;
  readonly cores: number;
}

type Opener<Profile> = (profile: Profile, world: OpenWorld) => Promise<Launcher>;
type Openers = {
  readonly [Kind in LauncherProfile["kind"]]: Opener<Extract<LauncherProfile, { kind: Kind }>>;
};

// Lazily imported: nobody loads a cloud provider's client to run something on this machine.
const OPENERS: Openers = {
  local: async (profile, world) => (await import("./local/launcher.ts")).localLauncher(profile, world),
  ssh: async (profile, world) => (await import("./ssh/launcher.ts")).sshLauncher(profile, world),
  slurm: async (profile, world) => (await import("./slurm/launcher.ts")).slurmLauncher(profile, world),
  sagemaker: async (profile, world) =>
    (await import("./sagemaker/launcher.ts")).sagemakerLauncher(profile, world),
};

/** The launcher of a profile. UserError `PAYLOAD_INCOMPLETE` when the payload has no `wrapper.sh`. */
export const openLauncher = async (profile: LauncherProfile, world: LaunchWorld): Promise<Launcher> => {
  const file = join(world.payload, "wrapper.sh");
  const wrapper = await readIfExists(file);
  if (wrapper === undefined) {
    throw new UserError("PAYLOAD_INCOMPLETE", `There is no file ${file}`, {
      hint: "the payload folder must be the one that came with this program",
    });
  }
  const open: OpenWorld = {
    ...world,
    wrapper,
    link: (await readIfExists(join(world.payload, "link.sh"))) ?? "",
    secrets: secretsFrom(world.environment),
    cores: availableParallelism(),
  };
  return withProfileChecks(await opened(profile, open), profile);
};

async function opened(profile: LauncherProfile, world: OpenWorld): Promise<Launcher> {
  switch (profile.kind) {
    case "local":
      return OPENERS.local(profile, world);
    case "ssh":
      return OPENERS.ssh(profile, world);
    case "slurm":
      return OPENERS.slurm(profile, world);
    case "sagemaker":
      return OPENERS.sagemaker(profile, world);
    default:
      return unknownKind(profile);
  }
}

// What every start would refuse without asking the machine, a look at the profile tells before the machine's own answers.
const withProfileChecks = (launcher: Launcher, profile: LauncherProfile): Launcher => ({
  ...launcher,
  probe: async () => [...profileChecks(launcher.validate(probeJob(profile))), ...(await launcher.probe())],
});

function unknownKind(profile: never): never {
  throw new InternalError("PROFILE_KIND", `There is no launcher for ${JSON.stringify(profile)}`);
}
