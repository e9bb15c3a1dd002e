import type { Transport } from "../transport/transport.ts";
import { execute, scrubbedScript } from "./command.ts";
import { failureOf } from "./squeue.ts";

/** What a cluster says about itself; asked once. */
export interface ClusterFacts {
  /** e.g. `22.05.8`; empty when it does not say. */
  readonly version: string;
  /** Who we are there. */
  readonly uid: number;
  /** Keeps accounts (slurmdbd), so that ended jobs can be asked for. */
  readonly accounts: boolean;
  /** A preempted job comes back by itself. */
  readonly preemptionRequeues: boolean;
  readonly preemptMode: string;
  /** Seconds an ended job stays in squeue. */
  readonly minJobAge: number;
  /** All of `scontrol show config`. */
  readonly config: ReadonlyMap<string, string>;
}

export type Facts =
  | { readonly known: true; readonly facts: ClusterFacts }
  | { readonly known: false; readonly why: string };

// One call: each costs a round trip.
const ASK = `id -u && sbatch --version && exec timeout -k 5 "$1" scontrol $2 show config`;

/** Asks a cluster about itself. What it says does not change while we run. */
export const askFacts = async (
  transport: Transport,
  cluster: string | null,
  deadlineSeconds: number,
): Promise<Facts> => {
  const option = cluster === null ? "" : `--cluster=${cluster}`;
  const outcome = await execute(transport, scrubbedScript(ASK, String(deadlineSeconds), option), {
    deadline: (deadlineSeconds + 10) * 1000,
  });
  const failure = failureOf("scontrol show config", outcome);
  if (failure !== undefined || outcome.kind !== "exited")
    return { known: false, why: failure ?? "no answer" };
  const [uid = "", version = "", ...lines] = outcome.stdout.toString("utf8").split("\n");
  const facts = readFacts(uid, version, lines);
  return facts === undefined
    ? {
        known: false,
        why: `scontrol show config said something unexpected: ${lines.join(" ").slice(0, 200)}`,
      }
    : { known: true, facts };
};

/** Facts from `id -u`, `sbatch --version` and the lines of `scontrol show config`; undefined when they are not that. */
export const readFacts = (
  uid: string,
  version: string,
  lines: readonly string[],
): ClusterFacts | undefined => {
  const config = new Map(
    lines.flatMap((line): [string, string][] => {
      const match = /^(\w+)\s*=\s*(.*?)\s*$/.exec(line);
      return match?.[1] === undefined || match[2] === undefined ? [] : [[match[1], match[2]]];
    }),
  );
  const storage = config.get("AccountingStorageType");
  if (!/^\d+$/.test(uid) || storage === undefined) return undefined;
  const preemptMode = config.get("PreemptMode") ?? "";
  return {
    version: /(\d+(\.\d+)+)/.exec(version)?.[1] ?? "",
    uid: Number(uid),
    accounts: storage.includes("slurmdbd"),
    preemptMode,
    preemptionRequeues: /REQUEUE/i.test(preemptMode),
    minJobAge: Number(/^\d+/.exec(config.get("MinJobAge") ?? "")?.[0] ?? 300),
    config,
  };
};
