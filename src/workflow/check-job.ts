import { PreflightError, UserError } from "../core/errors.ts";
import type { Check, Job, LaunchProblem } from "../launch/index.ts";
import type { Shop } from "./shop.ts";

export interface CheckedJob {
  readonly checks: readonly Check[];
  /** Failed checks that `force` overruled. */
  readonly forced: readonly string[];
}

/** Everything that can be told of a job without asking any machine. */
export const offlineProblems = async (shop: Shop, job: Job): Promise<readonly LaunchProblem[]> =>
  (await shop.launchers.of(job)).validate(job);

/** Offline problems and preflight of a job: UserError `JOB_INVALID`, PreflightError `PREFLIGHT_FAILED` with numbers. */
export const checkJob = async (shop: Shop, job: Job, force: boolean): Promise<CheckedJob> => {
  const launcher = await shop.launchers.of(job);
  const problems = launcher.validate(job);
  if (problems.length > 0) throw jobInvalid(problems);
  const checks = await launcher.preflight(job);
  const failed = checks.filter(({ outcome }) => outcome === "failed");
  const lines = failed.map(({ name, detail }) => `${name}: ${detail}`);
  if (failed.length > 0 && !force) {
    const hints = hintsOf(failed);
    throw new PreflightError("PREFLIGHT_FAILED", `The job would not run here:\n  ${lines.join("\n  ")}`, {
      hint: hints === "" ? "mend it, or start with --force, which is recorded" : hints,
    });
  }
  return { checks, forced: lines };
};

/** All problems in one error, each on a line of its own. */
export const jobInvalid = (problems: readonly LaunchProblem[]): UserError => {
  const hint = hintsOf(problems);
  const lines = problems.map(({ message }) => `  ${message}`);
  return new UserError(
    "JOB_INVALID",
    `The job cannot be started:\n${lines.join("\n")}`,
    hint === "" ? {} : { hint },
  );
};

// Each once: two problems may have one cure.
function hintsOf(problems: readonly { readonly hint?: string }[]): string {
  return [...new Set(problems.flatMap(({ hint }) => (hint === undefined ? [] : [hint])))].join("; ");
}
