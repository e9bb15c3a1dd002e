import { join } from "node:path";
import { InternalError, UserError } from "../../core/errors.ts";
import { attemptLayout, type AttemptLayout } from "../attempt-layout.ts";
import { farProgram, farScript, type FarProgram } from "../far/index.ts";
import type { OpenWorld } from "../launchers.ts";
import { isMarker } from "../marker.ts";
import type { ProfileOf } from "../profile.ts";
import type { AttemptContext, Job, Plan, PlannedFile } from "../schema.ts";
import { progressFiles, stepsOf } from "./plan-progress.ts";
import { NODES, NODES_SCRIPT, nodesProgram } from "./plan-nodes.ts";
import { MANIFEST, manifestTemplate, TEMPLATE } from "./plan-template.ts";
import { slurmResources } from "./resources.ts";
import { excludedNodes, sbatchCommand } from "./sbatch.ts";

type SlurmProfile = ProfileOf<"slurm">;

interface Place {
  readonly job: Job;
  readonly attempt: AttemptContext;
  readonly profile: SlurmProfile;
  readonly layout: AttemptLayout;
  readonly cuda: string | null;
}

// Memory that others may hold of a GPU which Slurm has given to this job alone; a driver keeps some for itself.
const MAX_HELD_MEBIBYTES = 1024;

/** Where `secretFile` puts a job's secrets; its script reads them once and deletes the folder. */
export const secretsFolder = (plan: Pick<Plan, "cwd">): string => join(plan.cwd, "secrets");

/** Pure: the files to send, and one sbatch command for each link of the chain. UserError `PAYLOAD_INCOMPLETE` without link.sh. */
export const planSlurm = (
  job: Job,
  attempt: AttemptContext,
  {
    profile,
    world,
    cuda = null,
  }: {
    readonly profile: SlurmProfile;
    readonly world: OpenWorld;
    /** Version that the payload's torch is built for; null when it is not known. */
    readonly cuda?: string | null;
  },
): Plan => {
  const stem = attempt.marker.slice(0, -`-a${attempt.number}`.length);
  if (!isMarker(attempt.marker) || `${stem}-a${attempt.number}` !== attempt.marker) {
    throw new InternalError("MARKER_INVALID", `"${attempt.marker}" cannot name attempt ${attempt.number}`);
  }
  const { link = "" } = world;
  if (link === "") {
    throw new UserError("PAYLOAD_INCOMPLETE", `There is no file ${join(world.payload, "link.sh")}`, {
      hint: "the payload folder must be the one that came with this program",
    });
  }
  const layout = attemptLayout(job.runFolder, attempt.number);
  const place: Place = { job, attempt, profile, layout, cuda };
  const script = join(layout.folder, "job.sh");
  const program = programOf(place);
  const command = (number: number): Plan["argv"] => sbatchCommand({ ...place, script, link: number });
  return {
    kind: "slurm",
    runId: job.runId,
    attempt,
    files: plannedFiles(place, {
      script,
      wrapper: world.wrapper,
      link,
      text: scriptText(place, program, stem),
    }),
    argv: command(1),
    ...(profile.chain === 1
      ? {}
      : { further: Array.from({ length: profile.chain - 1 }, (_, index) => command(index + 2)) }),
    cwd: layout.folder,
    environment: program.environment,
    // What the machine has already, or fetches by itself, is matched by its preflight and by the job.
    uploads: job.inputs.filter(({ source }) => source !== null),
    prepares: job.environment,
    request: null,
  };
};

// The fence comes last: it locks out every earlier attempt.
function plannedFiles(
  { job, attempt, profile, layout }: Place,
  texts: { readonly script: string; readonly wrapper: string; readonly link: string; readonly text: string },
): readonly PlannedFile[] {
  const nodes = { path: join(layout.folder, NODES), mode: 0o755, text: NODES_SCRIPT };
  return [
    { path: join(layout.folder, TEMPLATE), mode: 0o644, text: manifestTemplate(job, layout) },
    { path: layout.wrapper, mode: 0o755, text: texts.wrapper },
    { path: join(layout.folder, "link.sh"), mode: 0o755, text: texts.link },
    ...(slurmResources(job, profile).nodes > 1 ? [nodes] : []),
    // Its setup lines and its environment may hold a token; Slurm reads it as who submits it.
    { path: texts.script, mode: 0o600, text: texts.text },
    { path: layout.fence, mode: 0o644, text: `${attempt.token}\n` },
  ];
}

function programOf({ job, profile, layout }: Place): FarProgram {
  const { nodes, processes, cpusPerTask } = slurmResources(job, profile);
  const usual = farProgram(job, profile, layout, processes);
  const environment = Object.keys(usual.environment);
  const argv =
    nodes > 1
      ? nodesProgram(job, profile, { layout, environment, script: join(layout.folder, NODES) })
      : withProcessors(usual.argv, profile, cpusPerTask);
  const [program, ...rest] = argv;
  return { ...usual, argv: [program, ...rest.map((part) => (part === layout.manifest ? MANIFEST : part))] };
}

// Since 22.05 a step no longer inherits the job's processors per task: it would get one.
function withProcessors(
  argv: FarProgram["argv"],
  { container }: SlurmProfile,
  cpusPerTask: number | null,
): FarProgram["argv"] {
  if (container?.engine !== "pyxis" || cpusPerTask === null) return argv;
  const [program, ...rest] = argv.flatMap((part) =>
    part === "srun" ? [part, `--cpus-per-task=${cpusPerTask}`] : [part],
  );
  return [program ?? "srun", ...rest];
}

function scriptText(place: Place, program: FarProgram, stem: string): string {
  const { job, attempt, profile, layout } = place;
  const { nodes, processes } = slurmResources(job, profile);
  return farScript({
    profile,
    environment: program.environment,
    processes,
    secrets: secretsFolder({ cwd: layout.folder }),
    head: [
      `# ${job.runId} from attempt ${attempt.number} on, on ${nodes === 1 ? "one node" : `${nodes} nodes`}.`,
      "# Arguments: number of this link, and of all links of the chain.",
      "UNDERSTUDY_LINK=$1 UNDERSTUDY_LINKS=$2",
      "export UNDERSTUDY_LINK UNDERSTUDY_LINKS",
    ],
    program: linkCommand(place, program, stem),
  });
}

/** How link.sh is called; its head explains each option. */
function linkCommand(place: Place, program: FarProgram, stem: string): Plan["argv"] {
  const { job, attempt, profile, layout, cuda } = place;
  const { container } = profile;
  const { processes, gres } = slurmResources(job, profile);
  const excluded = excludedNodes(profile, attempt);
  const hasGpus = profile.device !== "cpu" && gres !== null && /\bgpu\b/.test(gres);
  const options: readonly (readonly [string, string])[] = [
    ["--run", job.runFolder],
    ["--first", String(attempt.number)],
    ["--stem", stem],
    ["--token", attempt.token],
    ["--steps", String(stepsOf(job))],
    ...progressFiles(job).map((path) => ["--rows", path] as const),
    ...(excluded === undefined ? [] : [["--avoid", excluded] as const]),
    ["--umask", profile.umask],
    ...(program.python === null ? [] : [["--python", program.python] as const]),
    ["--disk-bytes", String(Math.ceil(job.diskBytes))],
    ...(hasGpus
      ? ([
          ["--gpus", String(processes)],
          ["--max-held", String(MAX_HELD_MEBIBYTES)],
        ] as const)
      : []),
    // An image brings its own.
    ...(hasGpus && cuda !== null && container === undefined ? [["--cuda", cuda] as const] : []),
    ...(container?.engine === "docker" ? [["--containers", "docker"] as const] : []),
    ["--grace", String(profile.graceSeconds)],
    ["--keep", program.keep],
  ];
  return ["/bin/sh", join(layout.folder, "link.sh"), ...options.flat(), "--", ...program.argv];
}
