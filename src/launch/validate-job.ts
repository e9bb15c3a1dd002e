import { isAbsolute } from "node:path";
import { z } from "zod";
import { isMarker, markerOf } from "./marker.ts";
import type { Job, LaunchProblem } from "./schema.ts";

/** What is wrong with a job whatever machine it is for: all problems at once. */
export const validateJob = (job: Job, processes: number): readonly LaunchProblem[] => [
  ...nameProblems(job),
  ...pathProblems(job),
  ...secretProblems(job),
  ...batchProblems(job, processes),
];

function nameProblems(job: Job): LaunchProblem[] {
  const problems: LaunchProblem[] = [];
  if (!/^[A-Za-z0-9][A-Za-z0-9._-]*$/.test(job.runId) || !isMarker(markerOf(job.runId, 1))) {
    problems.push({
      code: "RUN_ID_INVALID",
      message: `"${job.runId}" cannot be a run id: letters, digits, dots, dashes and underscores only`,
    });
  }
  if (job.manifest["kind"] !== job.kind) {
    problems.push({
      code: "KIND_MISMATCH",
      message: `The job is "${job.kind}", its manifest says "${String(job.manifest["kind"])}"`,
    });
  }
  if (!Number.isFinite(job.diskBytes) || job.diskBytes < 0) {
    problems.push({ code: "DISK_INVALID", message: `${job.diskBytes} is not a number of bytes` });
  }
  return problems;
}

const ManifestPaths = z.looseObject({
  model: z.looseObject({ path: z.string().optional() }).optional(),
  checkpoint: z.string().nullish(),
  data: z
    .looseObject({ train: z.array(z.string()).optional(), dev: z.array(z.string()).optional() })
    .optional(),
  tasks: z
    .array(
      z.looseObject({
        output: z.string().optional(),
        answers: z.string().optional(),
        suite: z.looseObject({ shards: z.array(z.string()).optional() }).optional(),
        system: z.looseObject({ checkpoint: z.string().nullish() }).optional(),
      }),
    )
    .optional(),
});

function pathProblems(job: Job): LaunchProblem[] {
  const named: [string, string | null | undefined][] = [
    ["runFolder", job.runFolder],
    ...(isBareName(job) ? [] : [["python", job.python] satisfies [string, string]]),
    ["payload", job.payload],
    ...manifestPaths(job.manifest),
  ];
  return named.flatMap(([name, path]) => {
    if (path === undefined || path === null) return [];
    if (isAbsolute(path) && !/[\0\n]/.test(path)) return [];
    return [
      {
        code: "PATH_INVALID",
        message: `${name} must be an absolute path on one line, not ${JSON.stringify(path)}`,
      },
    ];
  });
}

// Inside an image the interpreter is the one on its PATH.
function isBareName({ python, profile, environment }: Job): boolean {
  return profile.kind !== "local" && environment === null && /^[A-Za-z0-9][A-Za-z0-9._+-]*$/.test(python);
}

function manifestPaths(manifest: Job["manifest"]): [string, string | null | undefined][] {
  const parsed = ManifestPaths.safeParse(manifest);
  // Its shape is the payload's to judge, which it does before anything else.
  if (!parsed.success) return [];
  const { model, checkpoint, data, tasks = [] } = parsed.data;
  const list = (name: string, paths: readonly string[] = []): [string, string][] =>
    paths.map((path, index) => [`${name}[${index}]`, path]);
  return [
    ["model.path", model?.path],
    ["checkpoint", checkpoint],
    ...list("data.train", data?.train),
    ...list("data.dev", data?.dev),
    ...tasks.flatMap((task, index): [string, string | null | undefined][] => [
      [`tasks[${index}].output`, task.output],
      [`tasks[${index}].answers`, task.answers],
      [`tasks[${index}].system.checkpoint`, task.system?.checkpoint],
      ...list(`tasks[${index}].suite.shards`, task.suite?.shards),
    ]),
  ];
}

function secretProblems(job: Job): LaunchProblem[] {
  return job.secrets
    .filter((name) => !/^[A-Z][A-Z0-9_]*$/.test(name))
    .map((name) => ({
      code: "SECRET_NAME_INVALID",
      message: `"${name}" cannot be the name of a secret: capital letters, digits and underscores only`,
      hint: "give the name of an environment variable, never its value",
    }));
}

const Batches = z.looseObject({ globalBatch: z.int().positive(), microBatch: z.int().positive() });

function batchProblems(job: Job, processes: number): LaunchProblem[] {
  if (job.kind !== "train") return [];
  const parsed = Batches.safeParse(job.manifest["training"]);
  if (!parsed.success) return [];
  const { globalBatch, microBatch } = parsed.data;
  const together = microBatch * processes;
  if (globalBatch % together === 0) return [];
  const below = Math.floor(globalBatch / together) * together;
  const fitting = below === 0 ? `${together}` : `${below} or ${below + together}`;
  return [
    {
      code: "BATCH_NOT_WHOLE",
      message:
        `globalBatch ${globalBatch} is not a multiple of microBatch ${microBatch} × ${processes} ` +
        `process${processes === 1 ? "" : "es"} = ${together}: accumulation would be ${(globalBatch / together).toFixed(2)}`,
      hint:
        `a globalBatch of ${fitting} fits, or another microBatch in the recipe; processes: in the launcher profile is how many train ` +
        "on each machine, as many as it has GPUs",
    },
  ];
}
