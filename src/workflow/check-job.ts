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
  const invalid = launcher.validate(job);
  if (invalid.length > 0) throw jobInvalid(invalid);
  const checks = await launcher.preflight(job);
  const failed = checks.filter(({ outcome }) => outcome === "failed");
  const problems = failed.map(({ name, detail, hint }) => ({ text: `${name}: ${detail}`, hint }));
  if (failed.length > 0 && !force) {
    const { lines, hint } = told(problems);
    throw new PreflightError("PREFLIGHT_FAILED", `The job would not run here:\n${lines}`, {
      hint: hint ?? "mend it, or start with --force, which is recorded",
    });
  }
  return { checks, forced: problems.map(({ text }) => text) };
};

/** All problems in one error, each on a line of its own. */
export const jobInvalid = (problems: readonly LaunchProblem[]): UserError => {
  const { lines, hint } = told(problems.map(({ message, hint: cure }) => ({ text: message, hint: cure })));
  return new UserError(
    "JOB_INVALID",
    `The job cannot be started:\n${lines}`,
    hint === undefined ? {} : { hint },
  );
};

interface Problem {
  readonly text: string;
  readonly hint: string | undefined;
}

// One cure is told once, at the end; several stand each below its own problem.
function told(problems: readonly Problem[]): { readonly lines: string; readonly hint: string | undefined } {
  const cures = [...new Set(problems.flatMap(({ hint }) => hint ?? []))];
  if (cures.length <= 1) return { lines: problems.map(({ text }) => `  ${text}`).join("\n"), hint: cures[0] };
  const lines = problems.map(
    ({ text, hint }) => `  ${text}${hint === undefined ? "" : `\n    hint: ${hint}`}`,
  );
  return { lines: lines.join("\n"), hint: undefined };
}
