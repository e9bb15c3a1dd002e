import { execFileSync } from "node:child_process";
import { chmodSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { openLauncher, type LaunchWorld, type Launcher, type ProfileOf } from "../../../src/launch/index.ts";
import { systemClock } from "../../../src/core/clock.ts";
import { FAR_USER, startSshd, type Sshd, type SshdOptions } from "../../real/sshd/sshd.ts";
import { temporaryFolder } from "../support.ts";
import { farPayload, jobMaker, machine, profileOf, type Machine, type SshBench } from "./support.ts";

export interface SshdMachine extends Machine {
  readonly sshd: Sshd;
}

export interface SshdBench extends Omit<SshBench, "world"> {
  readonly folder: string;
  readonly machines: readonly SshdMachine[];
  readonly world: LaunchWorld;
  /** Another launcher with the same profile, as another controller would open it. */
  another(): Promise<Launcher>;
  remove(): Promise<void>;
}

export interface SshdBenchOptions {
  /** Each with lines of nvidia-smi, or none. */
  readonly machines?: Readonly<Record<string, readonly string[] | undefined>>;
  readonly transport?: "ssh2" | "openssh";
  readonly settings?: Record<string, unknown>;
  readonly environment?: Readonly<Record<string, string | undefined>>;
  /** Each machine has run folders of its own, and a node name. */
  readonly unshared?: boolean;
  readonly sshd?: SshdOptions;
  /** Log in as root: for interpreters that no other user can reach. */
  readonly asRoot?: boolean;
}

/** An SSH launcher whose hosts are real daemons; jobs run as another user. Needs root. */
export const sshdBench = async (options: SshdBenchOptions = {}): Promise<SshdBench> => {
  const { settings = {}, environment = process.env, transport = "ssh2" } = options;
  const place = temporaryFolder();
  const folder = place.path;
  chmodSync(folder, 0o755);
  const machines: SshdMachine[] = [];
  for (const [name, gpus] of Object.entries(options.machines ?? { one: undefined })) {
    machines.push(await startMachine(folder, { name, gpus, options }));
  }
  for (const name of ["data", "models", "env", "runs", "tmp"])
    mkdirSync(join(folder, name), { recursive: true });
  give(folder, ["data", "models", "env", "runs", "tmp"]);
  writeFileSync(join(folder, "known_hosts"), machines.map(({ sshd }) => sshd.knownHosts).join(""));
  writeFileSync(join(folder, "ssh_config"), "Host *\n  IdentityAgent none\n");
  const payload = farPayload(folder);
  const profile: ProfileOf<"ssh"> = profileOf(folder, {
    transport,
    knownHosts: join(folder, "known_hosts"),
    sshConfig: join(folder, "ssh_config"),
    deadlineSeconds: 20,
    hosts: machines.map(({ sshd }) => ({
      host: sshd.address,
      port: sshd.port,
      user: options.asRoot ? "root" : FAR_USER,
      identityFile: sshd.key,
    })),
    ...settings,
  });
  const world: LaunchWorld = { clock: systemClock, environment, payload };
  const launcher = await openLauncher(profile, world);
  return {
    folder,
    machines,
    launcher,
    profile,
    payload,
    world,
    job: jobMaker(folder, payload, profile),
    another: async () => openLauncher(profile, world),
    remove: async () => {
      await launcher.close();
      for (const { sshd } of machines) await sshd.stop();
      // Last words of a daemon are still written into its folder.
      await systemClock.sleep(200);
      place.remove();
    },
  };
};

async function startMachine(
  folder: string,
  {
    name,
    gpus,
    options,
  }: {
    readonly name: string;
    readonly gpus: readonly string[] | undefined;
    readonly options: SshdBenchOptions;
  },
): Promise<SshdMachine> {
  const made = machine(folder, name, gpus);
  give(folder, [`machine-${name}`]);
  const variables = Object.entries(made.environment).map(([key, value]) => `${key}=${value}`);
  const sshd = await startSshd(join(folder, `sshd-${name}`), {
    ...options.sshd,
    config: [
      `SetEnv ${variables.join(" ")}`,
      ...(options.asRoot ? ["PermitRootLogin yes", "AllowUsers root"] : []),
      ...(options.sshd?.config ?? []),
    ],
    ...(options.unshared ? { prefix: unsharing(folder, name) } : {}),
  });
  return { ...made, sshd };
}

// The same paths as on the other machines, and other files behind them.
function unsharing(folder: string, name: string): readonly string[] {
  const [own, runs] = [join(folder, `runs-of-${name}`), join(folder, "runs")];
  mkdirSync(own, { recursive: true });
  mkdirSync(runs, { recursive: true });
  give(folder, [`runs-of-${name}`]);
  const script = 'mount --bind "$1" "$2" && hostname "$3" && shift 3 && exec "$@"';
  return [
    "unshare",
    "--mount",
    "--uts",
    "--propagation",
    "private",
    "sh",
    "-c",
    script,
    "sh",
    own,
    runs,
    name,
  ];
}

function give(folder: string, names: readonly string[]): void {
  execFileSync("chown", ["-R", FAR_USER, ...names.map((name) => join(folder, name))]);
}
