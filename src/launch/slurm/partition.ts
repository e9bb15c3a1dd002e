import type { ProfileOf } from "../profile.ts";
import type { Check } from "../schema.ts";
import type { Transport } from "../transport/transport.ts";
import type { Cluster } from "./cluster.ts";
import { execute, onCluster, scrubbed } from "./command.ts";
import { failureOf, linesOf } from "./squeue.ts";
import { slurmSeconds } from "./times.ts";

export interface CheckWorld {
  readonly transport: Transport;
  readonly profile: ProfileOf<"slurm">;
  readonly cluster: Cluster;
}

/** Nodes of one kind. */
export interface NodeKind {
  readonly count: number;
  /** As sinfo writes it: `gpu:h100:8(S:0-1),nvme:1`, `(null)`. */
  readonly gres: string;
  readonly cpus: number | null;
  readonly memoryMebibytes: number | null;
}

export interface Partition {
  readonly name: string;
  readonly state: string;
  readonly limit: string;
  readonly nodes: readonly NodeKind[];
}

/** The partition that a job of the profile would go to, as the cluster has it, and what there is to say of it. */
export const askPartition = async (
  world: CheckWorld,
): Promise<{ readonly partition: Partition | null; readonly check: Check }> => {
  const { transport, profile, cluster } = world;
  const name = "partition";
  const wanted = profile.partition;
  // -e: nodes of different kinds are lines of their own.
  const argv = ["sinfo", ...onCluster(cluster.name), "-h", "-e", "-o", "%R|%a|%l|%D|%G|%P|%c|%m"] as const;
  const outcome = await execute(transport, scrubbed(argv, profile.deadlineSeconds), {
    deadline: (profile.deadlineSeconds + 10) * 1000,
  });
  const failure = failureOf("sinfo", outcome);
  if (failure !== undefined || outcome.kind !== "exited")
    return { partition: null, check: { name, outcome: "unknown", detail: failure ?? "" } };
  const rows = linesOf(outcome.stdout).map((line) => line.split("|"));
  const own = rows.filter(([partition, , , , , mark = ""]) =>
    wanted === undefined ? mark.endsWith("*") : partition === wanted,
  );
  const partition = partitionOf(own);
  if (partition === null) {
    const known = [...new Set(rows.map(([one]) => one))].join(", ");
    return {
      partition,
      check: {
        name,
        outcome: "failed",
        detail: wanted === undefined ? "there is no default partition" : `there is no partition ${wanted}`,
        hint: `set partition: in the profile to one of ${known}`,
      },
    };
  }
  return { partition, check: limitCheck(partition, profile) };
};

function partitionOf(rows: readonly (readonly string[])[]): Partition | null {
  const [first] = rows;
  if (first === undefined) return null;
  const [name = "", state = "", limit = ""] = first;
  const nodes = rows.map(([, , , count, gres = "", , cpus, memory]): NodeKind => ({
    count: numberIn(count) ?? 0,
    gres,
    cpus: numberIn(cpus),
    memoryMebibytes: numberIn(memory),
  }));
  return { name, state, limit, nodes };
}

// A plus sign: at least so much.
function numberIn(text = ""): number | null {
  const digits = /^\d+/.exec(text)?.[0];
  return digits === undefined ? null : Number(digits);
}

function limitCheck({ name: partition, state, limit, nodes }: Partition, profile: ProfileOf<"slurm">): Check {
  const name = "partition";
  const [most, asked] = [slurmSeconds(limit), slurmSeconds(profile.time)];
  if (typeof most === "number" && typeof asked === "number" && asked > most) {
    return {
      name,
      outcome: "failed",
      detail: `time ${profile.time} (${asked} s) is more than the limit of ${partition}, ${limit} (${most} s)`,
      hint: "set a shorter time: and a chain: of several links in the profile",
    };
  }
  const count = nodes.reduce((sum, kind) => sum + kind.count, 0);
  const gres = [...new Set(nodes.map((kind) => kind.gres))].join(" or ");
  const detail = `${partition}: ${count} nodes, ${gres}, at most ${limit}`;
  return state === "up"
    ? { name, outcome: "ok", detail }
    : { name, outcome: "failed", detail: `${detail}; it is ${state}` };
}
