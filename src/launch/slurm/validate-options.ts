import type { ProfileOf } from "../profile.ts";
import type { LaunchProblem } from "../schema.ts";
import { OWN_OPTIONS } from "./sbatch.ts";

type SlurmProfile = ProfileOf<"slurm">;

/** Problems of a profile's further options of sbatch. */
export const optionProblems = (profile: SlurmProfile): readonly LaunchProblem[] =>
  profile.extra.flatMap(extraProblems);

// sbatch takes any beginning of a long option that means only one: `--job-n=x` is `--job-name=x`.
function extraProblems(option: string): readonly LaunchProblem[] {
  const name = option.slice(2).split("=")[0] ?? "";
  const own = name in OWN_OPTIONS ? name : Object.keys(OWN_OPTIONS).find((known) => known.startsWith(name));
  if (own === undefined) return [];
  const field = OWN_OPTIONS[own] ?? "";
  return [
    {
      code: "EXTRA_OVERRIDES",
      message: `extra: ${option} would override --${own}, which is set here`,
      hint:
        field === ""
          ? "remove it: the run is found, followed and stopped by what is set here"
          : `set ${field} of the profile instead`,
    },
  ];
}
