import { RemoteError } from "../../core/errors.ts";
import { layoutAt } from "../attempt-layout.ts";
import type { Observation, RefOf } from "../schema.ts";
import { must } from "../transport/index.ts";
import type { Transport } from "../transport/transport.ts";
import { execute, onCluster, scrubbed } from "./command.ts";
import { stemOf } from "./identity.ts";
import { essence } from "./refusals.ts";

type SlurmRef = RefOf<"slurm">;

export interface CancelWorld {
  readonly transport: Transport;
  readonly deadlineSeconds: number;
  /** What the shared poll says of the ref: an end that it has not seen yet is asked for in vain, and nothing comes of it. */
  readonly observe: (ref: SlurmRef) => Promise<Observation>;
  /** The ref with links that it lacks, as that poll has seen them. */
  readonly complete: (ref: SlurmRef) => SlurmRef;
}

/**
 * Ends all links of a ref by their exact ids. `graceful`: no link begins another attempt, the running one saves and stops. `now`:
 * Slurm ends them. Asking again changes nothing. RemoteErrors `TRANSPORT_…`; `CANCEL_FAILED` when Slurm refuses: what was
 * asked for stands on the far disk all the same, and holds for links that have not begun.
 */
export const cancelSlurm = async (
  ref: SlurmRef,
  mode: "graceful" | "now",
  world: CancelWorld,
): Promise<"requested" | "already-ended"> => {
  const before = await world.observe(ref);
  if (before.phase === "ended" && before.continues === undefined) return "already-ended";
  const { isUp, runner } = await askToStop(ref, mode, world);
  const known = world.complete(ref).jobs.map(({ id }) => id);
  // Whoever runs the newest attempt, if it is none that the ref knows of.
  const ids = [...new Set([...known, ...(runner === undefined ? [] : [runner])])];
  if (mode === "now") await scancel(ref, ids, world);
  else {
    // First those that wait: none of them may begin when the running one ends.
    await scancel(ref, ["--state=PENDING", ...ids], world);
    // To the batch shell, which has become the wrapper: from now on the program has its time of grace.
    if (isUp) await scancel(ref, ["-b", "--signal=USR1", "--state=RUNNING", ...ids], world);
  }
  return "requested";
};

// The run's STOP is newer than the submission, or link.sh takes it for the stop of an earlier one. After that the newest attempt is
// told: a link that begins one looks for the run's STOP once more, so one of the two sees the other. Before the wrapper has
// reported, its shell would die of the signal. The word in the run's STOP tells the wrapper what Slurm's signal means.
const STOP = `
run=$1 stem=$2 mode=$3
case $mode in now) word=now ;; *) word=cancel ;; esac
mkdir -p -- "$run" && printf '%s\\n' "$word" >"$run/STOP.$$" && mv -f -- "$run/STOP.$$" "$run/STOP" && touch -- "$run/STOP" || exit 1
newest=0
for claim in "$run/claims/$stem"-a*; do
  number=\${claim##*-a}
  case $number in '' | *[!0-9]*) continue ;; esac
  [ "$number" -le "$newest" ] || newest=$number
done
folder=$run/attempts/$newest
# Secrets of jobs that wait are not going to be read.
[ -d "$folder" ] && [ ! -f "$folder/result.json" ] || { rm -rf -- "$run/secrets" "$run"/attempts/*/secrets; exit 0; }
[ "$mode" = now ] || [ -e "$folder/STOP" ] || printf 'cancel\\n' >"$folder/STOP" || exit 1
[ ! -f "$folder/supervisor.json" ] || echo up
owner=
{ IFS= read -r owner <"$run/claims/$stem-a$newest/owner"; } 2>/dev/null
printf 'job %s\\n' "$owner"
`;

interface Told {
  /** The wrapper of the newest attempt has reported. */
  readonly isUp: boolean;
  /** The job that runs it; undefined where none does, or it has not said its name. */
  readonly runner: string | undefined;
}

async function askToStop(
  ref: SlurmRef,
  mode: "graceful" | "now",
  { transport, deadlineSeconds }: CancelWorld,
): Promise<Told> {
  const { run } = layoutAt(ref.folder);
  const outcome = await execute(transport, ["sh", "-c", STOP, "stop", run, stemOf(ref.marker), mode], {
    deadline: deadlineSeconds * 1000,
  });
  const text = must(outcome, `ask ${run} to stop`).toString("utf8");
  return { isUp: /^up$/m.test(text), runner: /^job (\d+)$/m.exec(text)?.[1] };
}

async function scancel(
  ref: SlurmRef,
  words: readonly string[],
  { transport, deadlineSeconds }: CancelWorld,
): Promise<void> {
  const argv = scrubbed(["scancel", ...onCluster(ref.cluster), ...words], deadlineSeconds);
  const outcome = await execute(transport, argv, { deadline: (deadlineSeconds + 10) * 1000 });
  if (outcome.kind !== "exited") {
    must(outcome, `cancel ${ref.marker}`);
    return;
  }
  const complaints = outcome.stderr.split("\n").filter((line) => line.trim() !== "" && !OVER.test(line));
  if (outcome.code === 0 || complaints.length === 0) return;
  throw new RemoteError(
    "CANCEL_FAILED",
    `Slurm did not cancel ${ref.marker}: ${essence(complaints.join("\n"))}`,
    {
      hint: "the stop is noted on the far side; ask again when Slurm answers",
    },
  );
}

// What has ended needs no cancelling.
const OVER = /already complet|Invalid job id|not found|no active job|No active steps|Job\/step already/i;
