import type { FarProgram } from "../far/index.ts";
import { pyxisFlags } from "../far/index.ts";
import { inContainer } from "../far/container.ts";
import { withStagedInputs } from "../far/staging.ts";
import { payloadCommand } from "../payload-command.ts";
import type { AttemptLayout } from "../attempt-layout.ts";
import type { ProfileOf } from "../profile.ts";
import type { Job } from "../schema.ts";
import { MANIFEST } from "./plan-template.ts";

type SlurmProfile = ProfileOf<"slurm">;

/** Name of the script in the folder of the submission's first attempt. */
export const NODES = "nodes.sh";

/**
 * Starts every rank on every node by one srun, as the payload's own launcher does on one machine: torchrun would turn each
 * exit code of CONTRACT.md into 1. No port is fixed: the head node takes one that nobody there uses, below the range that the
 * kernel gives away by itself. Ranks that have not followed the first one within a minute hang in a collective.
 */
export const NODES_SCRIPT = `#!/bin/sh
# Starts the ranks of a job on all nodes of its allocation. Runs on the first of them.
#   nodes.sh RANKS-PER-NODE CPUS-PER-RANK OPTION-OF-SRUN... -- PROGRAM ARGUMENT...      CPUS-PER-RANK 0: as Slurm likes
set -u
ranks=$1 cpus=$2
shift 2

unfit() {
  printf 'nodes.sh: %s\\n' "$1" >&2
  exit 69
}

names=$(scontrol show hostnames "$SLURM_JOB_NODELIST") || unfit "scontrol does not tell the nodes of $SLURM_JOB_NODELIST"
MASTER_ADDR=\${names%%"
"*}
[ -n "$MASTER_ADDR" ] || unfit "scontrol does not tell the nodes of $SLURM_JOB_NODELIST"

top=32768
if [ -r /proc/sys/net/ipv4/ip_local_port_range ]; then read -r top _ </proc/sys/net/ipv4/ip_local_port_range; fi
[ "$top" -gt 2048 ] || top=32768
bottom=10000
[ "$bottom" -lt "$top" ] || bottom=1024
used=$(cat /proc/net/tcp /proc/net/tcp6 2>/dev/null)
MASTER_PORT=''
tries=0
while [ "$tries" -lt 1000 ]; do
  port=$((bottom + (SLURM_JOB_ID * 31 + $$ + tries * 7) % (top - bottom)))
  case $used in
    *":$(printf '%04X' "$port") "*) tries=$((tries + 1)) ;;
    *) MASTER_PORT=$port && break ;;
  esac
done
[ -n "$MASTER_PORT" ] || unfit "there is no free port from $bottom to $top on $MASTER_ADDR"
export MASTER_ADDR MASTER_PORT
printf 'ranks: %s on each of %s nodes, meeting at %s:%s\\n' "$ranks" "$SLURM_JOB_NUM_NODES" "$MASTER_ADDR" "$MASTER_PORT"

count=$#
while [ "$count" -gt 0 ]; do
  if [ "$1" = -- ]; then
    shift
    set -- "$@" /bin/sh -c '
      RANK=$SLURM_PROCID LOCAL_RANK=$SLURM_LOCALID WORLD_SIZE=$SLURM_NTASKS
      export RANK LOCAL_RANK WORLD_SIZE
      exec "$@"' rank
    count=$((count - 1))
    break
  fi
  option=$1
  shift
  set -- "$@" "$option"
  count=$((count - 1))
done
while [ "$count" -gt 0 ]; do
  argument=$1
  shift
  set -- "$@" "$argument"
  count=$((count - 1))
done
LOCAL_WORLD_SIZE=$ranks
export LOCAL_WORLD_SIZE
[ "$cpus" -eq 0 ] || set -- --cpus-per-task="$cpus" "$@"
exec srun --nodes="$SLURM_JOB_NUM_NODES" --ntasks="$((SLURM_JOB_NUM_NODES * ranks))" --ntasks-per-node="$ranks" \\
  --export=ALL --cpu-bind=none --kill-on-bad-exit=0 --wait=60 "$@"
`;

/** The program of a job on several nodes: steps that make sure of inputs run once, on the first node. */
export const nodesProgram = (
  job: Job,
  profile: SlurmProfile,
  place: { readonly layout: AttemptLayout; readonly script: string; readonly environment: readonly string[] },
): FarProgram["argv"] => {
  const { layout, script, environment } = place;
  const [program = job.python, ...rest] = payloadCommand(job, MANIFEST, 1);
  const isPyxis = profile.container?.engine === "pyxis";
  const ranks: FarProgram["argv"] = [
    "/bin/sh",
    script,
    String(profile.processes),
    String(Math.floor((profile.cpusPerTask ?? 0) / profile.processes)),
    ...pyxisFlags(job, profile, layout),
    "--",
    ...(isPyxis
      ? [program, ...rest]
      : inContainer([program, ...rest], { job, profile, layout, environment })),
  ];
  return withStagedInputs(ranks, { job, profile, layout });
};
