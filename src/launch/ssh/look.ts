import { dirname } from "node:path";
import type { Plan, RefOf } from "../schema.ts";
import { askHost, type HostScripts, type Line, type Problem } from "./ask-host.ts";
import type { Host } from "./hosts.ts";

/** What a host knows of a run and of one of its attempts. */
export interface Look {
  readonly kind: "look";
  readonly host: Host;
  /** `uname -n` there. */
  readonly node: string;
  /** Owner of the claim, as the wrapper wrote it; null when the marker is free. */
  readonly claim: string | null;
  /** `live`: a process there is, or is about to become, the wrapper. `gone`: it was. */
  readonly ticket: "live" | "gone" | null;
  /** A submission has reserved the host and not started the job yet. */
  readonly lease: boolean;
  /** Highest attempt of the run that has a folder there. */
  readonly newest: number;
  /** Bytes of whole lines of events.jsonl; 0 when the payload has never run there. */
  readonly begun: number;
  /** Complete checkpoints or finished results of the run lie there. */
  readonly work: boolean;
}
export type LookOutcome = Look | (Problem & { readonly host: Host });

export type LookMode = "look" | "settle" | "forget";

/**
 * `settle` takes back what a lost submission has reserved, so that it cannot start any more; `forget` removes the secrets stored for
 * it, which is for the time after every host has been settled: they may share the folder.
 */
export const lookAt = async (
  host: Host,
  plan: Plan,
  { scripts, mode }: { readonly scripts: HostScripts; readonly mode: LookMode },
): Promise<LookOutcome> => {
  const { marker, token } = plan.attempt;
  const args = [mode, dirname(dirname(plan.cwd)), marker, token];
  const reply = await askHost(host, { script: scripts.look, args });
  return reply.kind === "problem" ? { ...reply, host } : parseLook(host, reply.lines);
};

const parseLook = (host: Host, lines: readonly Line[]): Look => {
  const value = (word: string): string | undefined => lines.find((line) => line.word === word)?.rest;
  const ticket = value("ticket");
  return {
    kind: "look",
    host,
    node: value("host") ?? "",
    claim: value("claim") ?? null,
    ticket: ticket === "live" || ticket === "gone" ? ticket : null,
    lease: value("lease") !== undefined,
    newest: Number(value("newest") ?? 0),
    begun: Number(value("begun") ?? 0),
    work: value("work") !== undefined,
  };
};

/** True when the attempt has been started there, or is being started. */
export const holdsJob = ({ claim, ticket }: Look): boolean => claim !== null || ticket === "live";

/**
 * The host on which the attempt runs or ran: where folders are shared, its claim is seen on every host, and the ticket on
 * its own disk tells which one it was; else the name in the claim does.
 */
export const holderOf = (looks: readonly Look[]): Look | undefined => {
  const holders = looks.filter(holdsJob);
  return (
    holders.find(({ ticket }) => ticket === "live") ??
    // Of two that have tried, the one that the claim names: the other never came as far.
    holders.find((look) => look.ticket === "gone" && isNamed(look)) ??
    holders.find(({ ticket }) => ticket === "gone") ??
    holders.find(isNamed) ??
    holders[0]
  );
};

/** The host itself says that the attempt was started there. */
export const isOwn = (look: Look): boolean => look.ticket !== null || isNamed(look);

/**
 * The host whose events a run goes on from on `to`, or undefined when they lie there already. Events are brought before an
 * attempt's folder is made, so the host with the newest attempt has them all; of two that tried the same attempt, the one where it
 * wrote more.
 */
export const eventsFrom = (to: Look, looks: readonly Look[]): Look | undefined => {
  const [from] = looks
    .filter(({ begun }) => begun > 0)
    .toSorted((a, b) => b.newest - a.newest || b.begun - a.begun);
  if (from === undefined || from.host.name === to.host.name) return undefined;
  return from.newest > to.newest || from.begun > to.begun ? from : undefined;
};

const isNamed = ({ claim, node }: Look): boolean => claim?.startsWith(`${node}:`) === true;

/** How the attempt of a plan is found again on a host. */
export const refOn = (plan: Plan, host: Host): RefOf<"ssh"> => ({
  kind: "ssh",
  marker: plan.attempt.marker,
  folder: plan.cwd,
  host: host.name,
});
