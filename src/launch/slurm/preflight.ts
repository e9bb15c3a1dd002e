import { attemptLayout } from "../attempt-layout.ts";
import type { Check, Plan } from "../schema.ts";
import type { ProfileOf } from "../profile.ts";
import { execute, scrubbed } from "./command.ts";
import type { ClusterFacts } from "./facts.ts";
import { essence, readRefusal } from "./refusals.ts";
import { sbatchCommand } from "./sbatch.ts";
import { failureOf, linesOf } from "./squeue.ts";
import { misfitsOf } from "./misfits.ts";
import { askPartition, type CheckWorld } from "./partition.ts";

/**
 * What the scheduler says without a job: version, accounts, preemption, partition and its limits, and whether it would take a
 * training job of the profile.
 */
export const probeSlurm = async (world: CheckWorld): Promise<readonly Check[]> =>
  checksOf(world, trainingCommand(world.profile));

/** The same for this job. */
export const preflightSlurm = async (plan: Plan, world: CheckWorld): Promise<readonly Check[]> =>
  checksOf(world, plan.argv);

// Any training job asks for the same machine.
const trainingCommand = (profile: CheckWorld["profile"]): Plan["argv"] =>
  sbatchCommand({
    job: { kind: "train", runId: "probe", secrets: [] },
    profile,
    attempt: { number: 1, marker: "us-probe-a1", token: "probe" },
    layout: attemptLayout("/probe", 1),
    script: "job.sh",
    link: 1,
  });

async function checksOf(world: CheckWorld, command: Plan["argv"]): Promise<readonly Check[]> {
  const facts = await world.cluster.facts();
  if (!facts.known) {
    return [
      {
        name: "slurm",
        outcome: "failed",
        detail: facts.why,
        hint: "the Slurm commands must be on the PATH of a non-interactive shell, and slurmctld must answer",
      },
    ];
  }
  return [
    { name: "slurm", outcome: "ok", detail: `Slurm ${facts.facts.version}` },
    accountsCheck(facts.facts),
    preemptionCheck(facts.facts, world.profile),
    ...(await takenCheck(command, world)),
    ...(facts.facts.accounts ? [await associationCheck(world)] : []),
  ];
}

// A refusal names no resource: what the partition's nodes have tells which one it is.
async function takenCheck(command: Plan["argv"], world: CheckWorld): Promise<readonly Check[]> {
  const { profile } = world;
  const { partition, check } = await askPartition(world);
  const taken = await testOnly(command, world);
  if (taken.outcome !== "failed" || partition === null) return [check, taken];
  const misfits = misfitsOf(command, partition);
  if (misfits.length === 0) return [check, taken];
  const detail = `${taken.detail}: ${misfits.map(({ text }) => text).join("; ")}`;
  const keys = misfits.map(({ key }) => `${key}:`).join(" and ");
  const where = profile.partition === undefined ? "" : ", or take another partition:";
  return [check, { ...taken, detail, hint: `set ${keys} in the profile to what one node has${where}` }];
}

/** Whether Slurm would take a job that is submitted in this way, asked without submitting it. */
async function testOnly(command: Plan["argv"], { transport, profile }: CheckWorld): Promise<Check> {
  const name = "sbatch --test-only";
  const [program, ...rest] = command;
  const script = rest.findIndex((word) => !word.startsWith("-"));
  const options = rest
    .slice(0, script)
    // Its folder is not there yet.
    .filter((word) => !/^--(chdir|output|error|dependency)=/.test(word));
  const argv = scrubbed([program, "--test-only", ...options, "--wrap=true"], profile.deadlineSeconds);
  const outcome = await execute(transport, argv, { deadline: (profile.deadlineSeconds + 10) * 1000 });
  if (outcome.kind !== "exited")
    return { name, outcome: "unknown", detail: failureOf("sbatch", outcome) ?? "" };
  const said = essence(outcome.stderr);
  if (outcome.code === 0) return { name, outcome: "ok", detail: said.replace(/^Job \d+ /, "it would ") };
  const refusal = readRefusal(outcome.code, outcome.stderr);
  const isSure = refusal.kind === "permanent";
  return {
    name,
    outcome: isSure ? "failed" : "unknown",
    detail: refusal.reason,
    ...(isSure && refusal.hint !== undefined ? { hint: refusal.hint } : {}),
  };
}

function accountsCheck({ accounts, minJobAge }: ClusterFacts): Check {
  return accounts
    ? { name: "accounting", outcome: "ok", detail: "slurmdbd keeps ended jobs" }
    : {
        name: "accounting",
        outcome: "ok",
        detail: `no slurmdbd: an ended job is known for ${minJobAge} s, then by its own files alone`,
      };
}

function preemptionCheck(
  { preemptMode, preemptionRequeues }: ClusterFacts,
  profile: ProfileOf<"slurm">,
): Check {
  const name = "preemption";
  if (/^OFF/i.test(preemptMode)) return { name, outcome: "ok", detail: "jobs are not preempted" };
  if (preemptionRequeues) {
    const what = profile.requeue ? "comes back by itself" : "ends: requeue is false in the profile";
    return { name, outcome: "ok", detail: `PreemptMode=${preemptMode}: a preempted job ${what}` };
  }
  return {
    name,
    outcome: "ok",
    detail: `PreemptMode=${preemptMode}: a preempted job does not come back; ${
      profile.chain > 1 ? "the next link goes on" : "set chain: in the profile so that another link goes on"
    }`,
  };
}

async function associationCheck({ transport, profile, cluster }: CheckWorld): Promise<Check> {
  const name = "account";
  const script = `exec timeout -k 5 "$1" sacctmgr -n -P show assoc user="$(id -un)" format=cluster,account,qos`;
  const outcome = await execute(
    transport,
    ["sh", "-c", script, "sacctmgr", String(profile.deadlineSeconds)],
    { deadline: (profile.deadlineSeconds + 10) * 1000 },
  );
  const failure = failureOf("sacctmgr", outcome);
  if (failure !== undefined || outcome.kind !== "exited")
    return { name, outcome: "unknown", detail: failure ?? "" };
  const rows = linesOf(outcome.stdout)
    .map((line) => line.split("|"))
    .filter(([of]) => cluster.name === null || of === cluster.name);
  const accounts = [...new Set(rows.map(([, account = ""]) => account))];
  const { account, qos } = profile;
  if (account !== undefined && accounts.length > 0 && !accounts.includes(account)) {
    return {
      name,
      outcome: "failed",
      detail: `you have no account ${account}`,
      hint: `set account: in the profile to one of ${accounts.join(", ")}`,
    };
  }
  const allowed = new Set(
    rows
      .filter(([, of]) => account === undefined || of === account)
      .flatMap(([, , list = ""]) => list.split(",")),
  );
  if (qos !== undefined && allowed.size > 0 && !allowed.has(qos)) {
    return {
      name,
      outcome: "failed",
      detail: `qos ${qos} is not yours${account === undefined ? "" : ` in account ${account}`}`,
      hint: `set qos: in the profile to one of ${[...allowed].join(", ")}`,
    };
  }
  return {
    name,
    outcome: "ok",
    detail: accounts.length === 0 ? "no associations" : `accounts ${accounts.join(", ")}`,
  };
}
