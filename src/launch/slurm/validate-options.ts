import type { ProfileOf } from "../profile.ts";
import type { LaunchProblem } from "../schema.ts";
import { OWN_OPTIONS } from "./sbatch.ts";

type SlurmProfile = ProfileOf<"slurm">;

/** Problems of a profile's texts that become options of sbatch. */
export const optionProblems = (profile: SlurmProfile): readonly LaunchProblem[] => [
  ...valueProblems(profile),
  ...nodeProblems(profile.exclude),
  ...profile.extra.flatMap(extraProblems),
];

function valueProblems(profile: SlurmProfile): readonly LaunchProblem[] {
  const { account, partition, qos, gres, constraint, reservation, memory } = profile;
  const values = { account, partition, qos, gres, constraint, reservation, memory };
  return Object.entries(values).flatMap(([name, value]) =>
    value === undefined || /^[^\s\p{Cc}]+$/u.test(value)
      ? []
      : [
          {
            code: "OPTION_INVALID",
            message: `${name}: ${JSON.stringify(value)} must be one word`,
            hint: "write it as sbatch takes it, or leave it out",
          },
        ],
  );
}

function nodeProblems(exclude: readonly string[]): readonly LaunchProblem[] {
  return exclude
    .filter((node) => !/^[A-Za-z0-9._-]+(\[[0-9,-]+\])?[A-Za-z0-9._-]*$/.test(node))
    .map((node) => ({
      code: "NODE_INVALID",
      message: `exclude: ${JSON.stringify(node)} is not the name of a node`,
      hint: "write names such as n7 or n[11-12]",
    }));
}

// sbatch takes any beginning of a long option that means only one: `--job-n=x` is `--job-name=x`.
function extraProblems(option: string): readonly LaunchProblem[] {
  const name = option.slice(2).split("=")[0] ?? "";
  const own = name in OWN_OPTIONS ? name : Object.keys(OWN_OPTIONS).find((known) => known.startsWith(name));
  const problems: LaunchProblem[] = [];
  if (own !== undefined) {
    const field = OWN_OPTIONS[own] ?? "";
    problems.push({
      code: "EXTRA_OVERRIDES",
      message: `extra: ${option} would override --${own}, which is set here`,
      hint:
        field === ""
          ? "remove it: the run is found, followed and stopped by what is set here"
          : `set ${field} of the profile instead`,
    });
  }
  if (/[\n\0]/.test(option)) {
    problems.push({ code: "OPTION_INVALID", message: `extra: ${JSON.stringify(option)} must be one line` });
  }
  return problems;
}
