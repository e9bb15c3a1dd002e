import type { FarProfile } from "../profile.ts";
import type { Job, LaunchProblem } from "../schema.ts";
import { hubModel } from "./staging.ts";

/** What is wrong with a far profile and a job without asking any machine. */
export const farProblems = (job: Job, profile: FarProfile): readonly LaunchProblem[] => [
  ...engineProblems(profile),
  ...pathProblems(job, profile),
  ...stageProblems(job, profile),
];

function engineProblems({ kind, container, wheelhouse }: FarProfile): readonly LaunchProblem[] {
  if (container === undefined) return [];
  const problems: LaunchProblem[] = [];
  if (container.engine === "pyxis" && kind !== "slurm") {
    problems.push({
      code: "CONTAINER_ENGINE",
      message: "pyxis is a part of Slurm, and this profile has none",
      hint: "take engine: apptainer or engine: docker",
    });
  }
  if (!/@sha256:[0-9a-f]{64}$/.test(container.image) && !/\.(sif|sqsh)$/.test(container.image)) {
    problems.push({
      code: "IMAGE_NOT_PINNED",
      message: `the image ${container.image} has no digest: another one may lie under that name tomorrow`,
      hint: "write it as NAME@sha256:DIGEST, or name a .sif or .sqsh file",
    });
  }
  if (wheelhouse !== undefined) {
    problems.push({
      code: "WHEELHOUSE_UNUSED",
      message: "the profile has an image and a wheelhouse: the image brings its own packages",
      hint: "remove one of the two",
    });
  }
  return problems;
}

// Mount options are lists with `:` and `,` between their parts; nothing quotes them.
function pathProblems(job: Job, { container, paths }: FarProfile): readonly LaunchProblem[] {
  if (container === undefined) return [];
  const bad = [...Object.values(paths), job.payload, job.runFolder].find((path) => /[:,]/.test(path));
  return bad === undefined
    ? []
    : [
        {
          code: "MOUNT_PATH",
          message: `${bad} cannot be mounted into an image: its name has a colon or a comma`,
          hint: "choose folders without them in the profile's paths",
        },
      ];
}

function stageProblems(job: Job, { stage, container, s3 }: FarProfile): readonly LaunchProblem[] {
  const problems: LaunchProblem[] = [];
  if (stage.model === "image" && container === undefined) {
    problems.push({
      code: "STAGE_IMAGE",
      message: "the model is to come with the image, and the profile has no container",
      hint: "add a container, or take another way for stage.model",
    });
  }
  for (const [what, key] of [
    ["model", "models"],
    ["data", "data"],
  ] as const) {
    if (stage[what] !== "s3" || s3?.[key] !== undefined) continue;
    problems.push({
      code: "STAGE_S3",
      message: `stage.${what} is s3, and the profile does not say where: s3.${key} is missing`,
      hint: `add s3: { ${key}: s3://BUCKET/FOLDER } to the profile`,
    });
  }
  if (stage.data === "node-download") {
    problems.push({
      code: "STAGE_DATA",
      message: "data cannot be fetched by the node: only model weights lie on the hub",
      hint: "take existing or upload for stage.data",
    });
  }
  if (needsHubName(job, stage.model)) problems.push(...hubProblem(job, stage.model));
  return problems;
}

// A folder in S3 is found by the model's name where its files are not known here.
const needsHubName = (job: Job, way: FarProfile["stage"]["model"]): boolean =>
  way === "node-download" || (way === "s3" && !job.inputs.some(({ role }) => role === "model"));

function hubProblem(job: Job, way: string): readonly LaunchProblem[] {
  try {
    hubModel(job);
    return [];
  } catch {
    return [
      {
        code: "STAGE_HUB",
        message: `stage.model is ${way}, and the recipe's model is not one of the model hub`,
        hint: "take upload for a model made here",
      },
    ];
  }
}
