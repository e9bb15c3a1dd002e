import type { Finding, Plan } from "../schema.ts";
import type { HostScripts } from "./ask-host.ts";
import type { Hosts } from "./hosts.ts";
import { holderOf, isOwn, lookAt, refOn, type LookMode, type LookOutcome } from "./look.ts";

/**
 * Asks every host for the marker. `none` only when all of them have answered; from then on nothing that a lost submission
 * has sent can start any more.
 */
export const findSsh = async (
  plan: Plan,
  { hosts, scripts }: { readonly hosts: Hosts; readonly scripts: HostScripts },
): Promise<Finding> => {
  const ask = async (mode: LookMode): Promise<readonly LookOutcome[]> =>
    Promise.all(hosts.all.map(async (host) => lookAt(host, plan, { scripts, mode })));
  const outcomes = await ask("settle");
  const holder = holderOf(outcomes.filter((outcome) => outcome.kind === "look"));
  const silent = outcomes.filter((outcome) => outcome.kind === "problem");
  // A claim on a shared disk may be that of a host that cannot be asked now.
  const isSure = silent.length === 0 || (holder !== undefined && isOwn(holder));
  // Nobody reads the secrets of this attempt any more. A host that fails to forget them does so at the next submission.
  if (silent.length === 0 && (holder === undefined || holder.ticket === "gone")) await ask("forget");
  if (holder && isSure) return { outcome: "found", refs: [refOn(plan, holder.host)] };
  if (silent.length === 0) return { outcome: "none" };
  const reason = silent.map(({ host, reason: why }) => `${host.name} cannot be asked: ${why}`).join("; ");
  return { outcome: "unavailable", reason };
};
