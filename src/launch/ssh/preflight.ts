import { checkFar, probeFar } from "../far/index.ts";
import type { OpenWorld } from "../launchers.ts";
import type { Check, Job } from "../schema.ts";
import { askHost, problemOf, type HostScripts, type Problem } from "./ask-host.ts";
import type { Host, Hosts } from "./hosts.ts";
import type { SshProfile } from "./launcher.ts";
import { processesOf } from "./plan.ts";

interface Place {
  readonly hosts: Hosts;
  readonly scripts: HostScripts;
  readonly profile: SshProfile;
  readonly world: OpenWorld;
}

interface Asked {
  readonly host: Host;
  readonly checks: readonly Check[];
}

/** What can be asked of each host without a job. */
export const probeSsh = async (place: Place): Promise<readonly Check[]> => {
  const { hosts, profile, world } = place;
  const asked = await Promise.all(
    hosts.all.map(async (host) =>
      checksOf(host, async () => [
        ...(await probeFar(await host.transport(), profile, world)),
        ...(await lockChecks(host, profile.processes, place)),
      ]),
    ),
  );
  return asked.flatMap((one) => named(one, hosts));
};

/**
 * What can be asked of the hosts for this job. One host that could take it is enough: what is wrong with the others is told, and
 * stops nothing.
 */
export const preflightSsh = async (job: Job, place: Place): Promise<readonly Check[]> => {
  const { hosts, profile, world } = place;
  const secrets = job.secrets.map((name) => secretCheck(name, world));
  const asked = await Promise.all(
    hosts.all.map(async (host) =>
      checksOf(host, async () => {
        const checks = await checkFar(await host.transport(), job, profile, world);
        return withLocks(checks, await lockChecks(host, processesOf(job, profile), place));
      }),
    ),
  );
  const fit = asked.find(({ checks }) => checks.every(({ outcome }) => outcome !== "failed"));
  const others = fit === undefined ? [] : asked.filter((one) => one !== fit);
  const shown = fit === undefined ? asked : [fit];
  return [
    ...secrets,
    ...shown.flatMap((one) => named(one, hosts)),
    ...others.flatMap((one) => named({ ...one, checks: harmless(one.checks) }, hosts)),
  ];
};

async function checksOf(host: Host, ask: () => Promise<readonly Check[]>): Promise<Asked> {
  try {
    return { host, checks: await ask() };
  } catch (error) {
    return { host, checks: [unreachableCheck(problemOf(error))] };
  }
}

async function lockChecks(host: Host, gpus: number, { scripts, profile }: Place): Promise<readonly Check[]> {
  const limits = [profile.device, gpus, profile.maxHeldMebibytes, profile.jobsPerHost ?? 0].map(String);
  const reply = await askHost(host, { script: scripts.lock, args: ["ask", "preflight", "-", ...limits] });
  if (reply.kind === "problem") return [unreachableCheck(reply)];
  const free = reply.lines.find(({ word }) => word === "gpus");
  const busy = reply.lines.find(({ word }) => word === "busy")?.rest ?? "";
  const locked = reply.lines.find(({ word }) => word === "locked")?.rest.trim();
  if (free) {
    const detail = free.rest === "-" ? "no GPU is locked for a job" : `can be locked: ${free.rest}`;
    return [{ name: "lock", outcome: "ok", detail }];
  }
  const unfit = reply.lines.find(({ word }) => word === "unfit")?.rest;
  if (unfit !== undefined) return [{ name: "lock", outcome: "failed", detail: unfit }];
  if (locked === undefined) return [{ name: "lock", outcome: "failed", detail: busy }];
  return [{ name: "lock", outcome: "unknown", detail: `${busy}; a run started now waits for ${locked}` }];
}

// What our own jobs hold is waited for; it is no reason to refuse a start.
function withLocks(checks: readonly Check[], locks: readonly Check[]): readonly Check[] {
  const waits = locks.some(({ name, outcome }) => name === "lock" && outcome === "unknown");
  const isHeld = ({ name }: Check): boolean => /gpu|memory/i.test(name);
  return [
    ...checks.map((check) =>
      waits && check.outcome === "failed" && isHeld(check)
        ? { ...check, outcome: "unknown" as const }
        : check,
    ),
    ...locks,
  ];
}

function unreachableCheck({ reason, hint }: Problem): Check {
  return { name: "connection", outcome: "failed", detail: reason, ...(hint === undefined ? {} : { hint }) };
}

const harmless = (checks: readonly Check[]): readonly Check[] =>
  checks.map((check) =>
    check.outcome === "failed"
      ? { ...check, outcome: "unknown", detail: `${check.detail} (another host of the list will do)` }
      : check,
  );

function named({ host, checks }: Asked, hosts: Hosts): readonly Check[] {
  return hosts.all.length === 1
    ? checks
    : checks.map((check) => ({ ...check, name: `${host.name}: ${check.name}` }));
}

function secretCheck(secret: string, { secrets }: OpenWorld): Check {
  const name = `secret ${secret}`;
  return secrets.has(secret)
    ? { name, outcome: "ok", detail: "is set" }
    : { name, outcome: "failed", detail: "is not set", hint: `set ${secret} in the environment` };
}
