import { InternalError } from "../../core/errors.ts";
import type { AttemptLayout } from "../attempt-layout.ts";
import type { Container, FarProfile } from "../profile.ts";
import type { Job } from "../schema.ts";

/** A program inside the profile's image, or as it is where the profile has none. Names in `environment` are passed on. */
export const inContainer = (
  program: readonly [string, ...string[]],
  place: {
    readonly job: Job;
    readonly profile: FarProfile;
    readonly layout: AttemptLayout;
    readonly environment: readonly string[];
  },
): readonly [string, ...string[]] => {
  const { profile } = place;
  const { container } = profile;
  if (container === undefined) return program;
  switch (container.engine) {
    case "apptainer":
      return [...apptainer(container, place), ...program];
    case "docker":
      return [...docker(container, place), ...program];
    case "pyxis":
      return [...pyxis(place), ...program];
    default:
      return unknownEngine(container);
  }
};

/** Options of srun that run a step inside the profile's image; none for a profile without pyxis. */
export const pyxisFlags = (job: Job, profile: FarProfile, layout: AttemptLayout): readonly string[] => {
  const { container } = profile;
  if (container?.engine !== "pyxis") return [];
  const mounts = [...boundFolders(job, profile).map((folder) => `${folder}:${folder}`), ...container.mounts];
  return [
    `--container-image=${container.image}`,
    `--container-mounts=${mounts.join(",")}`,
    `--container-workdir=${layout.folder}`,
    "--no-container-mount-home",
  ];
};

type Place = Parameters<typeof inContainer>[1];

// --nv on a machine without a GPU is a warning, not an error.
function apptainer(
  container: Extract<Container, { engine: "apptainer" }>,
  { job, profile, layout }: Place,
): [string, ...string[]] {
  const binds = [...boundFolders(job, profile), ...container.binds];
  return [
    "apptainer",
    "exec",
    ...(profile.device === "cpu" ? [] : ["--nv"]),
    ...binds.flatMap((folder) => ["--bind", folder]),
    "--pwd",
    layout.folder,
    container.image,
  ];
}

// A step of one task on this node. `sbatch --export=NONE` leaves SLURM_EXPORT_ENV behind, which would empty the step's environment.
function pyxis({ job, profile, layout }: Place): [string, ...string[]] {
  return [
    "srun",
    "--nodes=1",
    "--ntasks=1",
    "--export=ALL",
    "--cpu-bind=none",
    ...pyxisFlags(job, profile, layout),
  ];
}

// Fixed text: everything that varies comes as an argument. The name is the marker, so that a container is found and ended by it;
// one of that name is what a killed start of this very attempt has left. UNDERSTUDY_JOB is MARKER.TOKEN.
const DOCKER = [
  "name=${UNDERSTUDY_JOB%%.*}${SLURM_PROCID:+-$SLURM_PROCID}",
  'docker rm --force "$name" >/dev/null 2>&1',
  'exec docker run --rm --init --name "$name" --user "$(id -u):$(id -g)" "$@"',
].join("\n");

// Of the caller, besides what the job sets itself.
const PASSED_ON =
  "UNDERSTUDY_JOB USER LOGNAME LANG CUDA_VISIBLE_DEVICES RANK LOCAL_RANK WORLD_SIZE LOCAL_WORLD_SIZE MASTER_ADDR MASTER_PORT";
// The plan's environment has it only where the profile says a number; else the far machine counts its cores.
const THREADS = "OMP_NUM_THREADS";

function docker(
  container: Extract<Container, { engine: "docker" }>,
  { job, profile, layout, environment }: Place,
): [string, ...string[]] {
  const mounts = [...boundFolders(job, profile).map((folder) => `${folder}:${folder}`), ...container.mounts];
  return [
    "/bin/sh",
    "-c",
    DOCKER,
    "understudy-docker",
    ...(profile.device === "cpu" ? [] : ["--gpus", "all"]),
    // Data-loader workers and NCCL share memory; two machines must see each other.
    "--ipc=host",
    "--network=host",
    "--ulimit",
    "memlock=-1",
    ...mounts.flatMap((mount) => ["--volume", mount]),
    // A name alone takes the value from docker's own environment: no value is in any argument.
    ...[...new Set([...PASSED_ON.split(" "), THREADS, ...environment])].flatMap((name) => ["--env", name]),
    "--env",
    `HOME=${profile.paths.tmp}`,
    "--workdir",
    layout.folder,
    "--entrypoint",
    "",
    container.image,
  ];
}

// Every folder once, none inside another one that is bound already.
function boundFolders(job: Job, { paths }: FarProfile): readonly string[] {
  const wanted = [paths.data, paths.models, paths.runs, paths.tmp, job.payload, job.runFolder];
  const inside = (path: string, folder: string): boolean =>
    path !== folder && `${path}/`.startsWith(`${folder}/`);
  return [...new Set(wanted)].filter((path) => !wanted.some((folder) => inside(path, folder)));
}

function unknownEngine(container: never): never {
  throw new InternalError("CONTAINER_ENGINE", `There is no container engine in ${JSON.stringify(container)}`);
}
