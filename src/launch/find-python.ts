import { UserError } from "../core/errors.ts";
import { runProgram } from "../core/process.ts";

export interface FoundPython {
  /** Absolute path of the interpreter itself. */
  readonly path: string;
  /** e.g. `3.11.7`. */
  readonly version: string;
}

type Environment = Readonly<Record<string, string | undefined>>;

const OLDEST = [3, 10] as const;
const NAMES = ["python3.13", "python3.12", "python3.11", "python3.10", "python3", "python"] as const;

/**
 * A Python of at least 3.10 that can make virtual environments: the profile's own choice, else the first on PATH.
 * UserErrors `PYTHON_MISSING`, `PYTHON_TOO_OLD` (naming what was found) and `PYTHON_WITHOUT_VENV`.
 */
export const findPython = async (environment: Environment, preferred?: string): Promise<FoundPython> => {
  const candidates = preferred === undefined ? NAMES : [preferred];
  const tooOld: string[] = [];
  const withoutVenv: FoundPython[] = [];
  for (const candidate of candidates) {
    const found = await ask(candidate, environment);
    if (found === undefined) continue;
    if (!isNewEnough(found.version)) tooOld.push(`${candidate} is ${found.version} (${found.path})`);
    else if (await canMakeEnvironments(found.path, environment)) return found;
    else withoutVenv.push(found);
  }
  throw refusal(candidates, tooOld, withoutVenv);
};

async function ask(candidate: string, environment: Environment): Promise<FoundPython | undefined> {
  const program = "import sys; print(sys.executable); print('%d.%d.%d' % sys.version_info[:3])";
  const answer = await attempt([candidate, "-c", program], environment);
  const [path, version] = answer?.split("\n") ?? [];
  return path && version ? { path, version } : undefined;
}

async function canMakeEnvironments(path: string, environment: Environment): Promise<boolean> {
  return (await attempt([path, "-c", "import ensurepip, venv; print('yes')"], environment)) === "yes";
}

// A name that is missing, or a shim that leads nowhere, is no answer.
async function attempt(argv: readonly [string, ...string[]], env: Environment): Promise<string | undefined> {
  try {
    const { exitCode, stdout } = await runProgram(argv, { env, timeout: 60_000 });
    return exitCode === 0 ? stdout.trim() : undefined;
  } catch {
    return undefined;
  }
}

function isNewEnough(version: string): boolean {
  const [major = 0, minor = 0] = version.split(".").map(Number);
  return major > OLDEST[0] || (major === OLDEST[0] && minor >= OLDEST[1]);
}

function refusal(
  candidates: readonly string[],
  tooOld: readonly string[],
  withoutVenv: readonly FoundPython[],
): UserError {
  const [lacking] = withoutVenv;
  if (lacking) {
    return new UserError(
      "PYTHON_WITHOUT_VENV",
      `Python ${lacking.version} (${lacking.path}) cannot make virtual environments: venv or ensurepip is missing`,
      { hint: "on Debian and Ubuntu: apt install python3-venv" },
    );
  }
  const hint = "install Python 3.10 or newer, or name one in the launcher profile: python: /path/to/python3";
  return tooOld.length > 0
    ? new UserError("PYTHON_TOO_OLD", `The payload needs Python 3.10 or newer; ${tooOld.join(", ")}`, {
        hint,
      })
    : new UserError("PYTHON_MISSING", `No Python was found: looked for ${candidates.join(", ")}`, { hint });
}
