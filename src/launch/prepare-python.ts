import { rm } from "node:fs/promises";
import { arch, platform } from "node:os";
import { join } from "node:path";
import type { Clock } from "../core/clock.ts";
import { RemoteError, UserError } from "../core/errors.ts";
import { exists, readIfExists, writeJson } from "../core/files.ts";
import { digestOf } from "../core/hash.ts";
import { withoutUserinfo } from "../core/http.ts";
import { runProgram } from "../core/process.ts";
import type { Project } from "../core/project.ts";
import { findPython, type FoundPython } from "./find-python.ts";
import type { ProfileOf } from "./profile.ts";
import { withProcessLock } from "../core/process-lock.ts";
import { chooseCpuTorch } from "./torch-wheel.ts";

type PythonChoice = Pick<ProfileOf<"local">, "device"> & { readonly python?: string | undefined };

export interface PythonRequest {
  readonly project: Project;
  /** Folder of the payload with its lock files: torch, its CUDA libraries, everything else, and `extraLocks`. */
  readonly payload: string;
  readonly profile: PythonChoice;
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly clock: Clock;
  /** Progress: what is done, and each line of pip. */
  readonly onLine: (line: string) => void;
  readonly signal?: AbortSignal;
  /** Further lock files of the payload's folder, e.g. what its tests need. Default: none. */
  readonly extraLocks?: readonly string[];
}

const TORCH_LOCK = "requirements-torch.lock";
const CUDA_LOCK = "requirements-cuda.lock";
const LOCK = "requirements.lock";
const MARKER = "_COMPLETE.json";

/**
 * The interpreter of the payload's virtual environment, which is made once for its lock files, Python version and kind
 * of device, and found again afterwards. A half-made one (killed, no network) has no completion marker and is made anew.
 * Errors: those of `findPython`; `PAYLOAD_INCOMPLETE`; RemoteError `TORCH_UNREACHABLE`, `PACKAGES_FAILED`.
 */
export const preparePython = async (request: PythonRequest): Promise<string> => {
  const { clock, onLine, signal } = request;
  const { folder, python, device } = await placeOf(request);
  if (await isComplete(folder)) return interpreter(folder);
  const options = {
    clock,
    ...(signal && { signal }),
    onWait: (holder: number) => onLine(`waiting for process ${holder}, which is making the same environment`),
  };
  return withProcessLock(`${folder}.lock`, options, async () => {
    if (!(await isComplete(folder))) await build(folder, python, device, request);
    return interpreter(folder);
  });
};

/** The interpreter that `preparePython` would give, and whether it is there already. Makes nothing. */
export const plannedPython = async (
  request: PythonRequest,
): Promise<{ readonly path: string; readonly isMade: boolean }> => {
  const { folder } = await placeOf(request);
  return { path: interpreter(folder), isMade: await isComplete(folder) };
};

async function placeOf(
  request: PythonRequest,
): Promise<{ readonly folder: string; readonly python: FoundPython; readonly device: Device }> {
  const { project, payload, profile, environment, extraLocks = [] } = request;
  const device = await deviceOf(profile, environment);
  const locks = await Promise.all(
    [...lockNames(device), ...extraLocks].map((name) => readLock(join(payload, name))),
  );
  const python = await findPython(environment, profile.python);
  const wheels = environment["UNDERSTUDY_TORCH_WHEELS"] ?? null;
  const minor = python.version.split(".").slice(0, 2).join(".");
  const key = { locks, minor, device, wheels, platform: platform(), arch: arch() };
  return { folder: join(project.state, "environments", digestOf(key).slice(0, 16)), python, device };
}

type Device = "cpu" | "cuda";

/** Names of the payload's lock files for a device, in the order of their installation. */
export const lockNames = (device: Device): readonly string[] =>
  device === "cuda" ? [TORCH_LOCK, CUDA_LOCK, LOCK] : [TORCH_LOCK, LOCK];

async function build(
  folder: string,
  python: FoundPython,
  device: Device,
  request: PythonRequest,
): Promise<void> {
  const { onLine, clock } = request;
  // At its final place from the start: scripts in a virtual environment hold its path.
  await rm(folder, { recursive: true, force: true });
  onLine(`making a Python ${python.version} environment in ${folder}`);
  await run([python.path, "-m", "venv", folder], request, "PACKAGES_FAILED");
  await installTorch(folder, device, request);
  onLine("installing the payload's other packages");
  for (const lock of [LOCK, ...(request.extraLocks ?? [])]) await installLock(folder, lock, request);
  await writeJson(join(folder, MARKER), {
    schemaVersion: 1,
    python: python.version,
    device,
    madeAt: new Date(clock.now()).toISOString(),
  });
}

async function installTorch(folder: string, device: Device, request: PythonRequest): Promise<void> {
  const { payload, signal, onLine } = request;
  const requirements = join(payload, TORCH_LOCK);
  if (device === "cuda") {
    onLine("installing torch with its CUDA libraries");
    await installLock(folder, TORCH_LOCK, request);
    await installLock(folder, CUDA_LOCK, request);
    return;
  }
  const source = await chooseCpuTorch({
    python: interpreter(folder),
    requirements,
    environment: pipEnvironment(request.environment),
    platform: platform(),
    arch: arch(),
    ...(signal && { signal }),
  });
  onLine(`installing torch for the CPU from ${source.from}`);
  if (source.elsewhere) {
    const from = Object.entries(request.environment).filter(([name]) => !OTHER_SOURCES.includes(name));
    const { index, install } = source;
    const place = index === null ? {} : { PIP_INDEX_URL: index };
    const only = { ...request, environment: { ...Object.fromEntries(from), ...place } };
    // pip hands the address on to a build as an argument: none is made.
    const binary = index === null ? [] : ["--only-binary", "torch"];
    await pip(folder, ["--no-deps", ...binary, ...install], only, "TORCH_UNREACHABLE");
  } else await pip(folder, ["--no-deps", ...source.install], request, "PACKAGES_FAILED");
}

const OTHER_SOURCES = ["PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL", "PIP_FIND_LINKS", "PIP_NO_INDEX"];

// Every package is in a lock file: what a package asks for besides must not slip in.
async function installLock(folder: string, name: string, request: PythonRequest): Promise<void> {
  const lock = join(request.payload, name);
  const hashes = (await readLock(lock)).includes("--hash=") ? ["--require-hashes"] : [];
  await pip(folder, ["--no-deps", ...hashes, "-r", lock], request, "PACKAGES_FAILED");
}

async function pip(
  folder: string,
  args: readonly string[],
  request: PythonRequest,
  code: FailureCode,
): Promise<void> {
  await run([interpreter(folder), "-m", "pip", "install", "--no-input", ...args], request, code);
}

type FailureCode = "TORCH_UNREACHABLE" | "PACKAGES_FAILED";

const HINTS: Readonly<Record<FailureCode, string>> = {
  TORCH_UNREACHABLE:
    "set UNDERSTUDY_TORCH_WHEELS to a folder with the CPU wheel of torch, or to a package index that has it",
  PACKAGES_FAILED:
    "run the same command again when the package index can be reached; pip's own settings are used",
};

const SHOWN_LINES = 12;

async function run(
  argv: readonly [string, ...string[]],
  { environment, onLine, signal }: PythonRequest,
  code: FailureCode,
): Promise<void> {
  const lines: string[] = [];
  const result = await runProgram(argv, {
    env: pipEnvironment(environment),
    ...(signal && { signal }),
    // An index may be a URL with a token, and pip prints what it is given.
    onLine: (line) => {
      const shown = withoutUserinfo(line);
      lines.push(shown);
      onLine(shown);
    },
  });
  signal?.throwIfAborted();
  if (result.exitCode === 0) return;
  const said = lines.slice(-SHOWN_LINES).map((line) => `  ${line}`);
  const what =
    code === "TORCH_UNREACHABLE" ? "torch could not be installed" : "The environment could not be made";
  throw new RemoteError(
    code,
    [`${what} (${withoutUserinfo(argv.slice(1).join(" "))}):`, ...said].join("\n"),
    {
      hint: HINTS[code],
    },
  );
}

// Settings of the calling shell that would send packages elsewhere than into this environment.
const MISLEADING = ["PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV", "PIP_TARGET", "PIP_PREFIX", "PIP_USER"];

function pipEnvironment(environment: PythonRequest["environment"]): Record<string, string | undefined> {
  const kept = Object.entries(environment).filter(([name]) => !MISLEADING.includes(name));
  return { ...Object.fromEntries(kept), PIP_DISABLE_PIP_VERSION_CHECK: "1" };
}

async function deviceOf(profile: PythonChoice, environment: PythonRequest["environment"]): Promise<Device> {
  if (profile.device !== "auto") return profile.device;
  try {
    const answer = await runProgram(["nvidia-smi", "-L"], { env: environment, timeout: 30_000 });
    return answer.exitCode === 0 && answer.stdout.includes("GPU ") ? "cuda" : "cpu";
  } catch {
    return "cpu";
  }
}

async function isComplete(folder: string): Promise<boolean> {
  // The link to an interpreter that was since uninstalled leads nowhere.
  return (await exists(join(folder, MARKER))) && (await exists(interpreter(folder)));
}

function interpreter(folder: string): string {
  return join(folder, "bin", "python");
}

async function readLock(path: string): Promise<string> {
  const text = await readIfExists(path);
  if (text !== undefined) return text;
  throw new UserError("PAYLOAD_INCOMPLETE", `There is no file ${path}`, {
    hint: "the payload folder must be the one that came with this program",
  });
}
