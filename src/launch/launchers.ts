import { availableParallelism } from "node:os";
import { join } from "node:path";
import type { Clock } from "../core/clock.ts";
import { UserError } from "../core/errors.ts";
import { readIfExists } from "../core/files.ts";
import { secretsFrom, type Secrets } from "../core/secrets.ts";
import type { Launcher } from "./launcher.ts";
import type { LauncherProfile } from "./schema.ts";

/** What a launcher needs of the world around it. */
export interface LaunchWorld {
  readonly clock: Clock;
  /** Of the person who launches: PATH, HOME and secrets are taken from it, by name. */
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Folder of the payload; its `wrapper.sh` is sent along with every attempt. */
  readonly payload: string;
}

/** The world as an opened launcher sees it. */
export interface OpenWorld extends LaunchWorld {
  readonly secrets: Secrets;
  readonly wrapper: string;
  readonly cores: number;
}

type Opener<Profile> = (profile: Profile, world: OpenWorld) => Promise<Launcher>;
type Openers = {
  readonly [Kind in LauncherProfile["kind"]]: Opener<Extract<LauncherProfile, { kind: Kind }>>;
};

// Lazily imported: nobody loads a cloud provider's client to run something on this machine.
const OPENERS: Openers = {
  local: async (profile, world) => (await import("./local/launcher.ts")).localLauncher(profile, world),
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
  return OPENERS[profile.kind](profile, {
    ...world,
    wrapper,
    secrets: secretsFrom(world.environment),
    cores: availableParallelism(),
  });
};
