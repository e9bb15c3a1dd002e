import type { AttemptLayout } from "../attempt-layout.ts";
import { payloadCommand } from "../payload-command.ts";
import type { FarProfile } from "../profile.ts";
import type { Job, Plan } from "../schema.ts";
import { inContainer } from "./container.ts";
import { withStagedInputs } from "./staging.ts";

export interface FarProgram {
  /** What wrapper.sh runs after `--`. */
  readonly argv: readonly [string, ...string[]];
  /** What `farScript` exports before; PATH, HOME and the like stay the far machine's own. Secrets are names. */
  readonly environment: Plan["environment"];
  /** For the wrapper's --keep: `farScript` has already dropped what is not the job's, and `setup` lines may export anything. */
  readonly keep: string;
  /** For the wrapper's --python; null inside an image, whose interpreter the host cannot ask: leave the option out. */
  readonly python: string | null;
}

/**
 * The payload's command on a far machine, inside the profile's image where it has one, after the steps that hash data which the
 * machine had already and that fetch weights from the hub. Pure. The container's name is the marker out of UNDERSTUDY_JOB.
 */
export const farProgram = (
  job: Job,
  profile: FarProfile,
  layout: AttemptLayout,
  processes: number,
): FarProgram => {
  const environment = farEnvironment(job, profile);
  const [program = job.python, ...rest] = payloadCommand(job, layout.manifest, processes);
  const contained = inContainer([program, ...rest], {
    job,
    profile,
    layout,
    environment: Object.keys(environment),
  });
  const staged = withStagedInputs(contained, { job, profile, layout });
  return {
    argv: withUmask(staged, profile.umask),
    environment,
    keep: "*",
    python: profile.container === undefined ? job.python : null,
  };
};

// OMP_NUM_THREADS is set by farScript where the profile has none: only the far machine knows its cores.
function farEnvironment(job: Job, profile: FarProfile): Plan["environment"] {
  return {
    HF_HUB_OFFLINE: { value: "1" },
    HF_HUB_DISABLE_TELEMETRY: { value: "1" },
    ...(profile.threads === undefined ? {} : { OMP_NUM_THREADS: { value: String(profile.threads) } }),
    PYTHONPATH: { value: job.payload },
    // The payload's folder is shared and its files are known by digest.
    PYTHONDONTWRITEBYTECODE: { value: "1" },
    PYTHONNOUSERSITE: { value: "1" },
    PYTHONUNBUFFERED: { value: "1" },
    TMPDIR: { value: profile.paths.tmp },
    ...Object.fromEntries(job.secrets.map((name) => [name, { secret: name }])),
  };
}

// wrapper.sh sets a umask of its own; outputs have the profile's.
function withUmask(program: readonly [string, ...string[]], umask: string): readonly [string, ...string[]] {
  const usual = Number.parseInt(umask, 8) === 0o022;
  return usual
    ? program
    : ["/bin/sh", "-c", 'umask "$1" && shift && exec "$@"', "understudy-umask", umask, ...program];
}
