import { join } from "node:path";
import { version } from "node:process";
import type { Clock } from "../core/clock.ts";
import { messageOf, UnderstudyError } from "../core/errors.ts";
import { exists } from "../core/files.ts";
import { runProgram } from "../core/process.ts";
import { freeBytes, prepareState, type Project } from "../core/project.ts";
import {
  findPython,
  loadProfile,
  openLauncher,
  profileNames,
  type Check,
  type LauncherProfile,
  type OnLaunchProgress,
} from "../launch/index.ts";

export interface DoctorRequest {
  readonly project: Project;
  readonly clock: Clock;
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly onProgress?: OnLaunchProgress;
}

/** What can be said of this machine: each check with its outcome and numbers. Starts nothing and asks no other machine. */
export const doctorHere = async (request: DoctorRequest): Promise<readonly Check[]> => [
  nodeCheck(version),
  await tried("python", async () => pythonDetail(request)),
  await tried("state folder", async () => stateDetail(request)),
  await diskCheck(request),
  await payloadCheck(request),
  await programCheck(request, ["git", "--version"], "runs are recorded without a commit"),
  await programCheck(
    request,
    ["ssh", "-V"],
    "needed where ssh_config asks for what the SSH library cannot do",
  ),
];

/** A profile of the project, and what is wrong with its file. */
export interface ProfileLine {
  readonly name: string;
  readonly kind: LauncherProfile["kind"] | null;
  readonly check: Check;
}

/** Every profile of the project: whether its file can be read. */
export const doctorProfiles = async ({
  project,
}: Pick<DoctorRequest, "project">): Promise<readonly ProfileLine[]> =>
  Promise.all(
    (await profileNames(project)).map(async (name): Promise<ProfileLine> => {
      try {
        const { kind, description } = await loadProfile(project, name);
        return { name, kind, check: { name: `profile ${name}`, outcome: "ok", detail: description ?? kind } };
      } catch (error) {
        return { name, kind: null, check: failed(`profile ${name}`, error) };
      }
    }),
  );

/**
 * What a profile's machine says of itself: reachability, scheduler, Python, GPUs, disk. A machine that cannot be asked is a failed
 * check, not an error. Errors: those of `loadProfile`.
 */
export const doctorProfile = async (
  request: DoctorRequest,
  name: string,
): Promise<{ readonly profile: LauncherProfile; readonly checks: readonly Check[] }> => {
  const { project, clock, environment, onProgress } = request;
  const profile = await loadProfile(project, name);
  try {
    const launcher = await openLauncher(profile, {
      clock,
      environment,
      payload: payloadOf(project),
      ...(onProgress && { onProgress }),
    });
    try {
      return { profile, checks: (await launcher.probe()).map((check) => advised(check, profile)) };
    } finally {
      await launcher.close();
    }
  } catch (error) {
    return { profile, checks: [advised(failed(profile.kind, error), profile)] };
  }
};

// Whoever does not get through to a machine wants to know where to look first.
function advised(check: Check, { kind }: LauncherProfile): Check {
  if (check.outcome !== "failed" || check.hint !== undefined) return check;
  if (check.name !== "connection" || (kind !== "ssh" && kind !== "slurm")) return check;
  return {
    ...check,
    hint: "see whether ssh to that host works in this terminal; host, port and user are those of the profile, else of ~/.ssh/config",
  };
}

const OLDEST_NODE = [20, 19] as const;

/** Whether a Node version such as `v20.19.0` is new enough. */
export const nodeCheck = (found: string): Check => {
  const [major = 0, minor = 0] = found.replace(/^v/, "").split(".").map(Number);
  const isNewEnough = major > OLDEST_NODE[0] || (major === OLDEST_NODE[0] && minor >= OLDEST_NODE[1]);
  const detail = `Node ${found.replace(/^v/, "")}, ${OLDEST_NODE.join(".")} or newer needed`;
  return isNewEnough
    ? { name: "node", outcome: "ok", detail }
    : { name: "node", outcome: "failed", detail, hint: "install a newer Node.js" };
};

async function tried(name: string, ask: () => Promise<string>): Promise<Check> {
  try {
    return { name, outcome: "ok", detail: await ask() };
  } catch (error) {
    return failed(name, error);
  }
}

function failed(name: string, error: unknown): Check {
  const hint = error instanceof UnderstudyError ? error.hint : undefined;
  return { name, outcome: "failed", detail: messageOf(error), ...(hint === undefined ? {} : { hint }) };
}

async function pythonDetail({ environment }: DoctorRequest): Promise<string> {
  const { version: found, path } = await findPython(environment);
  return `Python ${found} (${path}), 3.10 or newer needed`;
}

async function stateDetail({ project }: DoctorRequest): Promise<string> {
  await prepareState(project);
  return `${project.state} is on a local disk`;
}

// A CPU environment of the payload takes 1.5 GB, the tiny model and its checkpoints a few hundred MB.
const LEAST_FREE = 3e9;

async function diskCheck({ project }: DoctorRequest): Promise<Check> {
  const name = "disk";
  try {
    const free = await freeBytes((await exists(project.state)) ? project.state : project.root);
    const detail = `${(free / 1e9).toFixed(1)} GB free for the state folder, ${LEAST_FREE / 1e9} GB needed for a first run`;
    if (free >= LEAST_FREE) return { name, outcome: "ok", detail };
    return {
      name,
      outcome: "failed",
      detail,
      hint: "free some space, or set UNDERSTUDY_STATE to a folder on a larger local disk",
    };
  } catch (error) {
    return failed(name, error);
  }
}

const PAYLOAD_FILES = ["wrapper.sh", "requirements.lock", "requirements-torch.lock", "understudy_payload"];

const payloadOf = (project: Project): string => join(project.launchers, "payload");

async function payloadCheck({ project }: DoctorRequest): Promise<Check> {
  const name = "payload";
  const folder = payloadOf(project);
  const present = await Promise.all(PAYLOAD_FILES.map(async (file) => exists(join(folder, file))));
  const missing = PAYLOAD_FILES.filter((_, index) => present[index] === false);
  if (missing.length === 0) return { name, outcome: "ok", detail: `${folder} is complete` };
  return {
    name,
    outcome: "failed",
    detail: `${folder} has no ${missing.join(", ")}`,
    hint: "the payload folder must be the one that came with this program",
  };
}

// Not every project needs these: a missing one is told, and does not count as a failure.
async function programCheck(
  { environment }: DoctorRequest,
  argv: readonly [string, ...string[]],
  without: string,
): Promise<Check> {
  const [name] = argv;
  try {
    const { PATH, HOME } = environment;
    const answer = await runProgram(argv, { env: { PATH, HOME }, timeout: 30_000 });
    const said = `${answer.stdout}\n${answer.stderr}`.trim().split("\n")[0] ?? "";
    if (answer.exitCode === 0) return { name, outcome: "ok", detail: said };
    return { name, outcome: "unknown", detail: `${argv.join(" ")} failed: ${said}` };
  } catch {
    return { name, outcome: "unknown", detail: `there is no ${name} on PATH: ${without}` };
  }
}
