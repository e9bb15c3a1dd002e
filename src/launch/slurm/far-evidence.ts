import type { Transport } from "../transport/transport.ts";
import { execute } from "./command.ts";
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

// Shell builtins alone, so that a thousand runs cost one process, but for a tail where a job had nothing to start. Each line of
// a file is marked, whatever is in it. A job's log lies with the first attempt of its submission.
const ASK = `
lines() {
  while IFS= read -r line || [ -n "$line" ]; do printf '+%s\\n' "$line"; line=; done <"$1"
}
text() {
  [ -f "$1" ] || return 0
  printf 'F%s\\n' "$1"
  lines "$1" 2>/dev/null
}
needs_log() {
  [ -f "attempts/$from/supervisor.json" ] || return 0
  line=
  { IFS= read -r line <"attempts/$from/result.json"; } 2>/dev/null
  case $line in *'"exitCode":69,'*) return 0 ;; esac
  return 1
}
log_of() {
  first=0 newest=
  for file in attempts/*/link-*.txt; do
    number=\${file#attempts/} number=\${number%%/*}
    case $number in *[!0-9]*) continue ;; esac
    [ -f "$file" ] && [ "$number" -le "$from" ] && [ "$number" -ge "$first" ] || continue
    [ "$number" -eq "$first" ] && [ "$newest" -nt "$file" ] || newest=$file
    first=$number
  done
  [ -n "$newest" ] || return 0
  printf 'F%s\\n' "$newest"
  tail -c 2000 "$newest" 2>/dev/null | while IFS= read -r line || [ -n "$line" ]; do printf '+%s\\n' "$line"; line=; done
}
printf 'N%s\\n' "$(date +%s)"
while IFS=' ' read -r from run; do
  cd "$run" 2>/dev/null || { printf 'R%s\\n' "$run"; continue; }
  printf 'R%s\\n' "$run"
  text STOP
  text fence
  for claim in claims/*; do
    [ -d "$claim" ] || continue
    owner=
    { IFS= read -r owner <"$claim/owner"; } 2>/dev/null
    printf 'C%s %s\\n' "\${claim#claims/}" "$owner"
  done
  for file in links/*.json; do text "$file"; done
  for folder in attempts/*; do
    number=\${folder#attempts/}
    case $number in *[!0-9]*) continue ;; esac
    [ "$number" -ge "$from" ] && [ -d "$folder" ] || continue
    printf 'A%s\\n' "$number"
    # Listing a folder makes a network filesystem ask its server.
    for file in "$folder"/*; do
      case \${file##*/} in supervisor.json | result.json | STOP) text "$file" ;; esac
    done
  done
  if needs_log; then log_of; fi
done
`;

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
  const outcome = await execute(transport, ["sh", "-c", ASK], {
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
}

/** The answer of the script above. */
export const readEvidence = (text: string): Evidence => {
  const runs = new Map<string, Draft>();
  let now: number | undefined;
  let run: Draft = { files: new Map(), attempts: [], claims: new Map() };
  let file = "";
  for (const line of text.split("\n")) {
    const rest = line.slice(1);
    switch (line.slice(0, 1)) {
      case "N":
        now = Number(rest);
        break;
      case "R":
        run = { files: new Map(), attempts: [], claims: new Map() };
        runs.set(rest, run);
        break;
      case "A":
        run.attempts.push(Number(rest));
        break;
      case "C":
        addClaim(run, rest);
        break;
      case "F":
        file = rest;
        run.files.set(file, "");
        break;
      case "+":
        run.files.set(file, `${run.files.get(file) ?? ""}${rest}\n`);
        break;
      default:
    }
  }
  return now === undefined || !Number.isFinite(now)
    ? { worked: false, why: `the far shell said something unexpected: ${text.slice(0, 200)}` }
    : { worked: true, now, runs };
};

function addClaim(run: Draft, text: string): void {
  const space = text.indexOf(" ");
  run.claims.set(text.slice(0, space), text.slice(space + 1).trim());
}
