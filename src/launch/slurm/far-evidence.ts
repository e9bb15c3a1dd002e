import type { Transport } from "../transport/transport.ts";
import { execute } from "./command.ts";
import { EVIDENCE_SCRIPT } from "./evidence-script.ts";
import { failureOf } from "./squeue.ts";

/** What lies in the folder of one run, as far as it says how its attempts and links go. */
export interface RunFiles {
  /**
   * Relative path → text, e.g. `attempts/2/result.json`, `links/1.json`, `STOP`; of `attempts/1/link-3.txt` the last bytes, and
   * only of the newest one, while the first attempt that matters has not begun its program or its machine was unfit.
   */
  readonly files: ReadonlyMap<string, string>;
  /** Numbers of the attempts that have a folder. */
  readonly attempts: readonly number[];
  /** Name of a claim, e.g. `us-run-a1.link-2` → the job that has it; empty when its name is not written yet. */
  readonly claims: ReadonlyMap<string, string>;
  /** Why what is above may not be all, in the far machine's words: then nothing follows from what is not in it. Else null. */
  readonly unread: string | null;
  /** False: the files lie on a network filesystem, or may: what another machine writes is seen there some time later. */
  readonly isLocal: boolean;
  /** Folders with secrets that nobody has read, e.g. `attempts/1/secrets`. */
  readonly secrets: readonly string[];
}

export type Evidence =
  | {
      readonly worked: true;
      /** Seconds since the epoch on the far machine. */
      readonly now: number;
      /** Run folder → what lies in it. */
      readonly runs: ReadonlyMap<string, RunFiles>;
    }
  | { readonly worked: false; readonly why: string };

const LIMIT = 64 * 1024 * 1024;

/** Where to look: a run's folder, and the first attempt that matters. */
export interface RunPlace {
  readonly run: string;
  readonly from: number;
}

/** Files of any number of runs in one call. */
export const askEvidence = async (
  transport: Transport,
  places: readonly RunPlace[],
  deadlineSeconds: number,
): Promise<Evidence> => {
  const stdin = places.map(({ run, from }) => `${from} ${run}\n`).join("");
  const outcome = await execute(transport, ["sh", "-c", EVIDENCE_SCRIPT], {
    stdin,
    deadline: deadlineSeconds * 1000 + places.length * 20,
    limit: LIMIT,
  });
  const failure = failureOf("reading the runs' folders", outcome);
  if (failure !== undefined || outcome.kind !== "exited")
    return { worked: false, why: failure ?? "no answer" };
  return readEvidence(outcome.stdout.toString("utf8"));
};

interface Draft {
  files: Map<string, string>;
  attempts: number[];
  claims: Map<string, string>;
  unread: string | null;
  isLocal: boolean;
  secrets: string[];
}

const draft = (): Draft => ({
  files: new Map(),
  attempts: [],
  claims: new Map(),
  unread: null,
  isLocal: false,
  secrets: [],
});

/** The answer of the script above. */
export const readEvidence = (text: string): Evidence => {
  const runs = new Map<string, Draft>();
  let now: number | undefined;
  let run = draft();
  let file = "";
  for (const line of text.split("\n")) {
    const rest = line.slice(1);
    switch (line.slice(0, 1)) {
      case "N":
        now = Number(rest);
        break;
      case "R":
        run = draft();
        runs.set(rest, run);
        break;
      case "F":
        file = rest;
        run.files.set(file, "");
        break;
      case "+":
        run.files.set(file, `${run.files.get(file) ?? ""}${rest}\n`);
        break;
      default:
        addFact(run, line.slice(0, 1), rest);
    }
  }
  return now === undefined || !Number.isFinite(now)
    ? { worked: false, why: `the far shell said something unexpected: ${text.slice(0, 200)}` }
    : { worked: true, now, runs };
};

function addFact(run: Draft, kind: string, rest: string): void {
  switch (kind) {
    case "A":
      run.attempts.push(Number(rest));
      break;
    case "C":
      addClaim(run, rest);
      break;
    case "U":
      run.unread ??= rest.trim();
      break;
    case "L":
      run.isLocal = true;
      break;
    case "S":
      run.secrets.push(rest);
      break;
    default:
  }
}

function addClaim(run: Draft, text: string): void {
  const space = text.indexOf(" ");
  run.claims.set(text.slice(0, space), text.slice(space + 1).trim());
}
