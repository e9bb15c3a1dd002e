import { InternalError } from "../core/errors.ts";
import { attemptLayout, type AttemptLayout } from "./attempt-layout.ts";
import { isMarker } from "./marker.ts";
import type { AttemptContext, Job, Plan, PlannedFile } from "./schema.ts";

/** Where an attempt lies. InternalError `MARKER_INVALID` when its marker cannot be a name everywhere. */
export const plannedLayout = (job: Job, { marker, number }: AttemptContext): AttemptLayout => {
  if (isMarker(marker)) return attemptLayout(job.runFolder, number);
  throw new InternalError("MARKER_INVALID", `"${marker}" cannot name a job on every launcher`);
};

/** Files of every attempt that wrapper.sh runs directly. The fence comes last: it locks out every earlier attempt. */
export const attemptFiles = (
  { job, attempt, layout }: Planned,
  wrapper: string,
  others: readonly PlannedFile[] = [],
): readonly PlannedFile[] => [
  { path: layout.manifest, mode: 0o644, text: manifestText(job, attempt, layout) },
  { path: layout.wrapper, mode: 0o755, text: wrapper },
  ...others,
  { path: layout.fence, mode: 0o644, text: `${attempt.token}\n` },
];

interface Planned {
  readonly job: Job;
  readonly attempt: AttemptContext;
  readonly layout: AttemptLayout;
}

/** The manifest of CONTRACT.md: the job's part with this attempt and its paths filled in. */
export const manifestText = (job: Job, attempt: AttemptContext, layout: AttemptLayout): string => {
  const manifest = {
    ...job.manifest,
    attempt: { number: attempt.number, token: attempt.token },
    paths: { output: layout.output, events: layout.events, stop: layout.stop, fence: layout.fence },
  };
  return `${JSON.stringify(manifest, null, 2)}\n`;
};

/**
 * The program of a job. Several processes are started by the payload itself: torchrun would turn every exit code of
 * CONTRACT.md into 1.
 */
export const payloadCommand = (job: Job, manifest: string, processes: number): readonly string[] => [
  job.python,
  "-m",
  "understudy_payload",
  job.kind,
  "--manifest",
  manifest,
  ...(job.kind === "train" && processes > 1 ? ["--processes", String(processes)] : []),
];

// Where programs and libraries are found, and which GPUs may be used; anything else of the launching shell stays there.
const INHERITED = ["PATH", "HOME", "LANG", "TMPDIR", "LD_LIBRARY_PATH", "CUDA_VISIBLE_DEVICES"] as const;

/** The whole environment of a job. No network for model files; secrets stay names. */
export const payloadEnvironment = (
  job: Job,
  threads: number,
  from: Readonly<Record<string, string | undefined>>,
): Plan["environment"] => {
  const inherited = INHERITED.flatMap((name): [string, { value: string }][] => {
    const value = from[name];
    return value === undefined ? [] : [[name, { value }]];
  });
  return {
    ...Object.fromEntries(inherited),
    HF_HUB_OFFLINE: { value: "1" },
    OMP_NUM_THREADS: { value: String(threads) },
    PYTHONPATH: { value: job.payload },
    PYTHONUNBUFFERED: { value: "1" },
    ...Object.fromEntries(job.secrets.map((name) => [name, { secret: name }])),
  };
};

/** How wrapper.sh is called; its head explains each option. */
export const wrapperCommand = (
  { job, attempt, layout }: Planned,
  request: {
    readonly graceSeconds: number;
    /** Asked by the node check; null inside an image, whose interpreter the host cannot ask. */
    readonly python: string | null;
    /** Names of variables that the program gets to see, as wrapper.sh takes them. */
    readonly keep: string;
    /** What starts containers that outlive the program's own process. */
    readonly containers?: "docker";
    readonly program: readonly string[];
  },
): Plan["argv"] => [
  "/bin/sh",
  layout.wrapper,
  "--run",
  job.runFolder,
  "--attempt",
  String(attempt.number),
  "--marker",
  attempt.marker,
  "--token",
  attempt.token,
  ...(request.python === null ? [] : ["--python", request.python]),
  "--disk-bytes",
  String(Math.ceil(job.diskBytes)),
  "--grace",
  String(request.graceSeconds),
  "--keep",
  request.keep,
  ...(request.containers === undefined ? [] : ["--containers", request.containers]),
  "--",
  ...request.program,
];
