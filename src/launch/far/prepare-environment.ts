import { RemoteError, UserError, type UnderstudyError } from "../../core/errors.ts";
import { withoutUserinfo } from "../../core/http.ts";
import { CPU_INDEX } from "../torch-wheel.ts";
import type { JobEnvironment } from "../schema.ts";
import type { Transport } from "../transport/transport.ts";
import { must } from "../transport/index.ts";
import { runScript } from "./ask.ts";
import { parseBuild, type Build } from "./build-status.ts";
import { setupLines } from "./script.ts";
import { readFarScript, type FarWorld } from "./scripts.ts";

export interface EnvironmentOptions {
  readonly umask: string;
  readonly group?: string | undefined;
  readonly signal: AbortSignal;
  /** Progress: what is done, and each line of pip. */
  readonly onLine: (line: string) => void;
  readonly world: FarWorld;
  /** The profile's `setup` lines: the Python may come from a module. */
  readonly setup?: readonly string[] | undefined;
  /**
   * Where the CPU build of torch comes from: a folder on the far side or an index. Default: UNDERSTUDY_FAR_TORCH_WHEELS of the
   * world's environment, else as pip is set up there.
   */
  readonly torchSource?: string | undefined;
}

/**
 * Makes a Python environment on the far side, once for each digest of its lock files, and waits for it. The build runs by itself
 * there: a lost connection, an abort or the end of this program neither kills nor doubles it; the next call finds it. A killed or
 * failed one is made anew. UserErrors `PYTHON_TOO_OLD`, `PYTHON_MISSING`, `PYTHON_WITHOUT_VENV`, `WHEELHOUSE_UNFIT`,
 * `PAYLOAD_INCOMPLETE`; RemoteErrors `TORCH_UNREACHABLE`, `TORCH_UNUSABLE`, `PACKAGES_FAILED`, `DISK_FULL`, `ENVIRONMENT_FAILED`,
 * `TRANSPORT_…` (no answer for ten minutes).
 */
export const prepareEnvironment = async (
  t: Transport,
  environment: JobEnvironment,
  options: EnvironmentOptions,
): Promise<void> => {
  const script = await readFarScript(options.world, "environment");
  const watch = watcher(t, environment, script, options);
  const first = await watch.look();
  // A failure from before this call is history.
  const known = first.state === "building" ? first.generation - 1 : first.generation;
  for (let build = first, starts = 0; build.state !== "complete"; build = await watch.look()) {
    if (build.state === "building") {
      await options.world.clock.sleep(PAUSE, options.signal);
      continue;
    }
    if (build.state === "failed" && build.generation > known)
      throw failure(build, environment, { said: watch.said(), host: t.name });
    if (starts === MOST_STARTS) {
      const more = { hint: `look at ${environment.folder}.lock on ${t.name}` };
      throw new RemoteError(
        "ENVIRONMENT_FAILED",
        `${starts} builds of the environment ended without a word`,
        more,
      );
    }
    if (build.state === "abandoned") options.onLine("the build was killed; it begins again");
    await start(t, environment, script, options);
    starts += 1;
  }
};

const PAUSE = 2_000;
const MOST_STARTS = 3;
const PATIENCE = 600_000;
const SHOWN_LINES = 12;

interface Watch {
  look(): Promise<Build>;
  said(): readonly string[];
}

/** Asks how far the build is, hands on each new line of its log once, and sits out a connection that is lost for a while. */
function watcher(
  t: Transport,
  { folder }: JobEnvironment,
  script: string,
  { onLine, signal, world: { clock } }: EnvironmentOptions,
): Watch {
  let generation = 0;
  let offset = 0;
  let recent: readonly string[] = [];
  const what = "ask how far the environment is";
  const ask = async (): Promise<string> => {
    const since = clock.now();
    for (;;) {
      signal.throwIfAborted();
      const args = ["status", folder, String(generation), String(offset)];
      const outcome = await runScript(t, { script, args, what, signal });
      const lost = outcome.kind === "transport-error" && PASSING.includes(outcome.code);
      if (!lost || clock.now() - since > PATIENCE) return must(outcome, what).toString("utf8");
      onLine(`no answer (${outcome.reason}); the build goes on there`);
      await clock.sleep(5 * PAUSE, signal);
    }
  };
  return {
    look: async () => {
      const build = parseBuild(await ask());
      if (build.generation !== generation) {
        [generation, offset, recent] = [build.generation, 0, []];
      }
      const { lines, bytes } = build.log;
      offset += bytes;
      const shown = lines.map(withoutUserinfo);
      for (const line of shown) onLine(line);
      recent = [...recent, ...shown].slice(-SHOWN_LINES);
      return build;
    },
    said: () => recent,
  };
}

// A wrong key or password does not heal by waiting.
const PASSING: readonly string[] = ["UNREACHABLE", "CONNECTION_LOST", "DEADLINE", "CHANNEL_REFUSED"];

async function start(
  t: Transport,
  environment: JobEnvironment,
  script: string,
  options: EnvironmentOptions,
): Promise<void> {
  const { umask, group, signal, onLine, setup = [], world } = options;
  const torchSource = options.torchSource ?? world.environment?.["UNDERSTUDY_FAR_TORCH_WHEELS"];
  const { folder, python, device, wheelhouse, locks } = environment;
  const optional = { group, wheelhouse: wheelhouse ?? undefined };
  const given = Object.entries(optional).flatMap(([name, value]) =>
    value === undefined ? [] : [`--${name}`, value],
  );
  const fixed = ["--umask", umask, "--python", python, "--device", device, "--torch-index", CPU_INDEX];
  const args = ["start", folder, ...fixed, ...given, ...locks.flatMap((lock) => ["--lock", lock])];
  // An address may hold a token: no argument, which everybody on that machine can read.
  const [source = ""] = (torchSource ?? "").trim().split("\n");
  const stdin = [source, ...setupLines(setup), script].join("\n");
  const what = "start to make the environment";
  const outcome = await runScript(t, { script, args, what, stdin, signal, deadline: START_DEADLINE });
  // It may have begun all the same: the next look tells.
  if (outcome.kind === "transport-error" && outcome.started === "unknown" && outcome.code !== "ABORTED")
    return;
  for (const line of must(outcome, what).toString("utf8").split("\n")) {
    if (line.startsWith("note: ")) onLine(line);
  }
}

const START_DEADLINE = 60_000;

// What the person has to change; everything else may work another time.
const THEIRS: Readonly<Record<string, string>> = {
  PYTHON_TOO_OLD:
    "name a Python 3.10 or newer in the launcher profile: python: /path/to/python3, or load one in setup",
  PYTHON_MISSING:
    "name a Python 3.10 or newer in the launcher profile: python: /path/to/python3, or load one in setup",
  PYTHON_WITHOUT_VENV: "on Debian and Ubuntu: apt install python3-venv",
  WHEELHOUSE_UNFIT:
    "fill the wheelhouse on a machine like that one: pip download --no-deps -d FOLDER -r each lock file",
  PAYLOAD_INCOMPLETE: "the payload folder must be the one that came with this program",
};
const PASSED: Readonly<Record<string, string>> = {
  DISK_FULL: "free some space there, or choose another disk for paths.env in the profile; then start again",
  TORCH_UNREACHABLE:
    "set UNDERSTUDY_FAR_TORCH_WHEELS to a folder there that holds the CPU wheel of torch, or to an index that has it",
  TORCH_UNUSABLE: "the machine may lack a library, or its glibc is too old for this torch",
  PACKAGES_FAILED:
    "run the same command again when the package index can be reached from there; pip's own settings are used",
};

interface Told {
  readonly said: readonly string[];
  /** Where the log lies. */
  readonly host: string;
}

function failure(build: Build, { folder }: JobEnvironment, { said, host }: Told): UnderstudyError {
  const [, code = "ENVIRONMENT_FAILED", reason = ""] = /^([A-Z_]+) (.*)$/.exec(build.failed) ?? [];
  const why = withoutUserinfo(reason.trim()) || (said.at(-1) ?? "there was no room to say why");
  const log = `  all that was said: ${folder}.lock/${build.generation}/log.txt on ${host}`;
  const theirs = THEIRS[code];
  if (theirs !== undefined) {
    const message = [`The environment ${folder} cannot be made: ${why}`, log].join("\n");
    return new UserError(code, message, { hint: theirs });
  }
  const hint = PASSED[code] ?? "run the same command again: it is made anew";
  // What pip makes of packages that it could not ask for leads nowhere.
  const lines = why.startsWith(CUT_OFF) ? [] : said.map((line) => `  ${line}`);
  const message = [`The environment ${folder} could not be made: ${why}`, ...lines, log].join("\n");
  return new RemoteError(code, message, { hint });
}

// As environment.sh begins it.
const CUT_OFF = "there is no connection to ";
