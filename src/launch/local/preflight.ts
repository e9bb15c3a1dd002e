import { dirname } from "node:path";
import { messageOf } from "../../core/errors.ts";
import { exists } from "../../core/files.ts";
import { runProgram } from "../../core/process.ts";
import { freeBytes, prepareState, projectAt } from "../../core/project.ts";
import type { OpenWorld } from "../launchers.ts";
import type { Check, Job } from "../schema.ts";
import { findPython } from "../find-python.ts";
import type { LocalProfile } from "./launcher.ts";

/** Questions to this machine before anything is started on it; every one is answered. */
export const preflightLocal = async (
  job: Job,
  profile: LocalProfile,
  world: OpenWorld,
): Promise<readonly Check[]> => [
  await pythonCheck(job, world),
  await diskCheck(job),
  await stateCheck(job),
  ...job.secrets.map((name) => secretCheck(name, world)),
  ...(profile.device === "cuda" ? [await gpuCheck(profile, world)] : []),
];

/** What can be asked of this machine without a job. */
export const probeLocal = async (profile: LocalProfile, world: OpenWorld): Promise<readonly Check[]> => [
  await interpreterCheck(profile, world),
  ...(profile.device === "cuda" ? [await gpuCheck(profile, world)] : []),
];

async function interpreterCheck(profile: LocalProfile, { environment }: OpenWorld): Promise<Check> {
  const name = "python";
  try {
    const { path, version } = await findPython(environment, profile.python);
    return { name, outcome: "ok", detail: `Python ${version} (${path})` };
  } catch (error) {
    return { name, outcome: "failed", detail: messageOf(error) };
  }
}

const ASK_PYTHON = [
  "import sys",
  "print('%d.%d.%d' % sys.version_info[:3])",
  "import understudy_payload",
  "sys.exit(sys.version_info < (3, 10))",
].join("\n");

async function pythonCheck(job: Job, { environment }: OpenWorld): Promise<Check> {
  const name = "python";
  try {
    const { PATH, HOME } = environment;
    const answer = await runProgram([job.python, "-c", ASK_PYTHON], {
      env: { PATH, HOME, PYTHONPATH: job.payload },
      timeout: 60_000,
    });
    const version = answer.stdout.trim();
    if (answer.exitCode === 0) return { name, outcome: "ok", detail: `Python ${version} (${job.python})` };
    const said = answer.stderr.trim().split("\n").at(-1) ?? "";
    return {
      name,
      outcome: "failed",
      detail: `${job.python}: ${said === "" ? `Python ${version} is older than 3.10` : said}`,
      hint: "delete this environment's folder and start again: it is made anew",
    };
  } catch (error) {
    return { name, outcome: "failed", detail: messageOf(error) };
  }
}

async function diskCheck(job: Job): Promise<Check> {
  const free = await freeBytes(await nearestFolder(job.runFolder));
  const detail = `${sizeText(free)} free, ${sizeText(job.diskBytes)} needed (${free} and ${job.diskBytes} bytes)`;
  return free >= job.diskBytes
    ? { name: "disk", outcome: "ok", detail }
    : {
        name: "disk",
        outcome: "failed",
        detail,
        hint: `free some space where ${job.runFolder} lies, or set UNDERSTUDY_STATE to a larger disk`,
      };
}

async function stateCheck(job: Job): Promise<Check> {
  const folder = await nearestFolder(job.runFolder);
  try {
    await prepareState(projectAt(folder, folder));
    return { name: "state folder", outcome: "ok", detail: `${folder} is on a local disk` };
  } catch (error) {
    return {
      name: "state folder",
      outcome: "failed",
      detail: messageOf(error),
      hint: "set UNDERSTUDY_STATE to a folder on a local disk",
    };
  }
}

function secretCheck(secret: string, { secrets }: OpenWorld): Check {
  const name = `secret ${secret}`;
  return secrets.has(secret)
    ? { name, outcome: "ok", detail: "is set" }
    : { name, outcome: "failed", detail: "is not set", hint: `set ${secret} in the environment` };
}

async function gpuCheck(profile: LocalProfile, { environment }: OpenWorld): Promise<Check> {
  const name = "gpus";
  try {
    const answer = await runProgram(["nvidia-smi", "-L"], {
      env: { PATH: environment["PATH"] },
      timeout: 30_000,
    });
    const found = answer.stdout.split("\n").filter((line) => line.startsWith("GPU ")).length;
    const detail = `${found} found, ${profile.processes} needed`;
    return { name, outcome: found >= profile.processes ? "ok" : "failed", detail };
  } catch (error) {
    return {
      name,
      outcome: "failed",
      detail: messageOf(error),
      hint: "the profile asks for cuda; without a GPU set device: cpu",
    };
  }
}

// The run's folder is not there yet, and a question must not make it.
async function nearestFolder(path: string): Promise<string> {
  let folder = path;
  while (!(await exists(folder)) && dirname(folder) !== folder) folder = dirname(folder);
  return folder;
}

function sizeText(bytes: number): string {
  return bytes < 1e9 ? `${(bytes / 1e6).toFixed(1)} MB` : `${(bytes / 1e9).toFixed(1)} GB`;
}
