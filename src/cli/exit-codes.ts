import { systemCode, UnderstudyError, type Actor } from "../core/errors.ts";

/** What a command ends with. Documented for scripts: changing a number is a breaking change. */
export const EXIT = {
  ok: 0,
  bug: 1,
  usage: 2,
  preflight: 3,
  remote: 4,
  budget: 5,
  inconclusive: 6,
  regression: 7,
  interrupted: 130,
} as const;
export type ExitCode = (typeof EXIT)[keyof typeof EXIT];

const BY_ACTOR: Readonly<Record<Actor, ExitCode>> = {
  user: EXIT.usage,
  preflight: EXIT.preflight,
  remote: EXIT.remote,
  bug: EXIT.bug,
};

// These say more than who has to act.
const BY_CODE: Readonly<Record<string, ExitCode>> = {
  BUDGET_EXCEEDED: EXIT.budget,
  GATE_INCONCLUSIVE: EXIT.inconclusive,
  GATE_REGRESSION: EXIT.regression,
};

/** System errors that the person at the keyboard can do something about. */
const USER_SYSTEM_ERRORS: Readonly<Record<string, string>> = {
  EACCES: "check the permissions of that path",
  EPERM: "check the permissions of that path",
  EROFS: "that filesystem is read-only",
  EEXIST: "move it away, or choose another place",
  ELOOP: "mend the links of that path",
  ENAMETOOLONG: "choose a shorter name",
  EDQUOT: "free some space and run the same command again",
  ENOSPC: "free some space and run the same command again",
  EMFILE: "raise the limit of open files (ulimit -n)",
  EISDIR: "a file was expected there, not a folder",
  ENOTDIR: "a folder was expected there, not a file",
};

/** The exit code of anything thrown. */
export const exitCodeOf = (thrown: unknown): ExitCode => {
  if (thrown instanceof UnderstudyError) return BY_CODE[thrown.code] ?? BY_ACTOR[thrown.actor];
  return systemHint(thrown) === undefined ? EXIT.bug : EXIT.usage;
};

/** Advice for a system error such as a missing permission; undefined when it is not for the person to solve. */
export const systemHint = (thrown: unknown): string | undefined =>
  USER_SYSTEM_ERRORS[systemCode(thrown) ?? ""];
