import type { CreateTrainingJobRequest } from "@aws-sdk/client-sagemaker";
import type { LaunchProblem } from "../schema.ts";

// The service's own limits; it names them only after everything has been uploaded.
const HYPER_PARAMETERS = 100;
const HYPER_KEY = 256;
const HYPER_VALUE = 2500;
const VARIABLES = 100;
const VARIABLE_VALUE = 512;
const ARGUMENTS = 100;
const ARGUMENT = 256;
const CHANNELS = 20;
const TAGS = 50;
const TAG_KEY = 128;
const TAG_VALUE = 256;
const LONGEST_RUNTIME = 2_419_200;

/** What a request has too much of, or too long, told without sending it. */
export const limitProblems = (request: CreateTrainingJobRequest): readonly LaunchProblem[] => [
  ...hyperParameterProblems(request.HyperParameters ?? {}),
  ...variableProblems(request.Environment ?? {}),
  ...argumentProblems(request),
  ...tagProblems(request),
  ...countProblem("CHANNELS", request.InputDataConfig?.length ?? 0, CHANNELS, "input channels"),
  ...runtimeProblems(request),
];

/** Large configuration belongs into a file of the bucket; hyperparameters have room for little. */
export const hyperParameterProblems = (
  values: Readonly<Record<string, string>>,
): readonly LaunchProblem[] => {
  const hint = "put a large configuration into a file: the job's manifest is one";
  return [
    ...countProblem("HYPERPARAMETERS", Object.keys(values).length, HYPER_PARAMETERS, "hyperparameters"),
    ...Object.entries(values).flatMap(([key, value]) => [
      ...lengthProblem("HYPERPARAMETER_KEY", `The name of hyperparameter ${start(key)}`, key, HYPER_KEY),
      ...lengthProblem("HYPERPARAMETER_VALUE", `Hyperparameter ${start(key)}`, value, HYPER_VALUE),
    ]),
  ].map((problem) => ({ ...problem, hint }));
};

function variableProblems(values: Readonly<Record<string, string>>): readonly LaunchProblem[] {
  return [
    ...countProblem("ENVIRONMENT", Object.keys(values).length, VARIABLES, "environment variables"),
    ...Object.entries(values).flatMap(([name, value]) => [
      ...lengthProblem("ENVIRONMENT_VALUE", `The environment variable ${start(name)}`, value, VARIABLE_VALUE),
    ]),
  ];
}

function argumentProblems({ AlgorithmSpecification }: CreateTrainingJobRequest): readonly LaunchProblem[] {
  const { ContainerEntrypoint = [], ContainerArguments = [] } = AlgorithmSpecification ?? {};
  return [
    ...countProblem(
      "ARGUMENTS",
      Math.max(ContainerEntrypoint.length, ContainerArguments.length),
      ARGUMENTS,
      "arguments",
    ),
    ...[...ContainerEntrypoint, ...ContainerArguments].flatMap((text) =>
      lengthProblem("ARGUMENT", `The argument ${start(text)}`, text, ARGUMENT),
    ),
  ];
}

function tagProblems({ Tags = [] }: CreateTrainingJobRequest): readonly LaunchProblem[] {
  return [
    ...countProblem("TAGS", Tags.length, TAGS, "tags"),
    ...Tags.flatMap(({ Key = "", Value = "" }) => [
      ...lengthProblem("TAG_KEY", `The name of tag ${start(Key)}`, Key, TAG_KEY),
      ...lengthProblem("TAG_VALUE", `Tag ${start(Key)}`, Value, TAG_VALUE),
      ...(/^[\p{L}\p{Z}\p{N}_.:/=+\-@]*$/u.test(Key + Value) && !Key.toLowerCase().startsWith("aws:")
        ? []
        : [
            {
              code: "TAG_INVALID",
              message: `The tag ${start(Key)} has a name or value that the service refuses`,
            },
          ]),
    ]),
  ];
}

function runtimeProblems({ StoppingCondition }: CreateTrainingJobRequest): readonly LaunchProblem[] {
  const { MaxRuntimeInSeconds: runtime = 0, MaxWaitTimeInSeconds: wait } = StoppingCondition ?? {};
  const problems: LaunchProblem[] = [];
  if (runtime > LONGEST_RUNTIME)
    problems.push({
      code: "RUNTIME_TOO_LONG",
      message: `maxRuntimeSeconds ${runtime} is above ${LONGEST_RUNTIME} (28 days)`,
    });
  if (wait !== undefined && wait < runtime)
    problems.push({
      code: "SPOT_WAIT_SHORT",
      message: `spot.maxWaitSeconds ${wait} is below maxRuntimeSeconds ${runtime}: it counts waiting and running together`,
      hint: `set spot.maxWaitSeconds to ${runtime} or more`,
    });
  return problems;
}

const countProblem = (what: string, count: number, most: number, words: string): LaunchProblem[] =>
  count <= most
    ? []
    : [{ code: `${what}_TOO_MANY`, message: `${count} ${words}; the service takes ${most}` }];

const lengthProblem = (what: string, words: string, text: string, most: number): LaunchProblem[] =>
  text.length <= most
    ? []
    : [
        {
          code: `${what}_TOO_LONG`,
          message: `${words} has ${text.length} characters; the service takes ${most}`,
        },
      ];

const start = (text: string): string => JSON.stringify(text.length > 40 ? `${text.slice(0, 40)}…` : text);
