import type { Finding, Plan } from "../schema.ts";
import type { HostScripts } from "./ask-host.ts";
import type { Hosts } from "./hosts.ts";
import { holderOf, isOwn, lookAt, refOn } from "./look.ts";

/**
 * Asks every host for the marker. `none` only when all of them have answered; from then on nothing that a lost submission
 * has sent can start any more.
 */
export const findSsh = async (
  plan: Plan,
  { hosts, scripts }: { readonly hosts: Hosts; readonly scripts: HostScripts },
): Promise<Finding> => {
  const outcomes = await Promise.all(
    hosts.all.map(async (host) => lookAt(host, plan, { scripts, mode: "settle" })),
  );
  const holder = holderOf(outcomes.filter((outcome) => outcome.kind === "look"));
  const silent = outcomes.filter((outcome) => outcome.kind === "problem");
  // A claim on a shared disk may be that of a host that cannot be asked now.
  const isSure = silent.length === 0 || (holder !== undefined && isOwn(holder));
  if (holder && isSure) return { outcome: "found", refs: [refOn(plan, holder.host)] };
  if (silent.length === 0) return { outcome: "none" };
  const reason = silent.map(({ host, reason: why }) => `${host.name} cannot be asked: ${why}`).join("; ");
  return { outcome: "unavailable", reason };
};
