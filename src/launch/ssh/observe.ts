import { messageOf } from "../../core/errors.ts";
import { parseJson } from "../../core/files.ts";
import { jobKey, WrapperResult, type JobKey, type Observation, type RefOf } from "../schema.ts";
import { Supervisor } from "../supervisor.ts";
import { askHost, type HostScripts, type Line } from "./ask-host.ts";
import type { Host, Hosts } from "./hosts.ts";
import type { SshProfile } from "./launcher.ts";

// From mkdir to supervisor.json it is milliseconds; after this long nobody is coming any more.
const START_SECONDS = 60;

/** As the far programs take it: of the engines only docker runs a job outside of its own processes. */
export const engineOf = ({ container }: SshProfile): "docker" | "-" =>
  container?.engine === "docker" ? "docker" : "-";

interface Place {
  readonly hosts: Hosts;
  readonly scripts: HostScripts;
  readonly profile: SshProfile;
}

/** What can be seen of attempts now: one question to each host, whatever the number of its jobs. */
export const observeSsh = async (
  refs: readonly RefOf<"ssh">[],
  place: Place,
): Promise<ReadonlyMap<JobKey, Observation>> => {
  const names = [...new Set(refs.map(({ host }) => host))];
  const answers = await Promise.all(
    names.map(async (name) => {
      const own = refs.filter(({ host }) => host === name);
      const host = place.hosts.named(name);
      if (host) return observeOn(host, own, place);
      const detail = `${name} is not among the hosts of the profile any more`;
      return own.map((ref): [JobKey, Observation] => [jobKey(ref), { phase: "unavailable", detail }]);
    }),
  );
  return new Map(answers.flat());
};

async function observeOn(
  host: Host,
  refs: readonly RefOf<"ssh">[],
  { scripts, profile }: Place,
): Promise<[JobKey, Observation][]> {
  const args = [engineOf(profile), ...refs.flatMap(({ marker, folder }) => [marker, folder])];
  const reply = await askHost(host, { script: scripts.observe, args });
  if (reply.kind === "problem") {
    return refs.map((ref) => [jobKey(ref), { phase: "unavailable", detail: reply.reason }]);
  }
  const { machine, attempts } = sections(reply.lines);
  return refs.map((ref, index) => [jobKey(ref), judge(ref, { machine, lines: attempts[index] })]);
}

interface Machine {
  readonly node: string;
  readonly boot: string;
}

function sections(lines: readonly Line[]): { machine: Machine; attempts: Line[][] } {
  const attempts: Line[][] = [];
  for (const line of lines) {
    if (line.word === "attempt") attempts.push([line]);
    else attempts.at(-1)?.push(line);
  }
  const value = (word: string): string => lines.find((line) => line.word === word)?.rest ?? "";
  return { machine: { node: value("host"), boot: value("boot") }, attempts };
}

/** Evidence of one attempt, from the lines that host-observe.sh prints about it. Anything unreadable proves nothing. */
export const judge = (
  ref: RefOf<"ssh">,
  { machine, lines }: { readonly machine: Machine; readonly lines: readonly Line[] | undefined },
): Observation => {
  const value = (word: string): string | undefined => lines?.find((line) => line.word === word)?.rest;
  if (value("attempt") !== ref.marker) {
    return { phase: "unavailable", detail: `${ref.host} gave no answer about ${ref.marker}` };
  }
  try {
    const result = value("result");
    const stray = strayContainer(ref, value);
    if (result !== undefined) return stray ?? ended(ref, result);
    const supervisor = value("supervisor");
    if (supervisor === undefined) return unreported(ref, { value, lines: lines ?? [] });
    return supervised(ref, { supervisor, machine, value });
  } catch (error) {
    return { phase: "unavailable", detail: messageOf(error) };
  }
};

// Its GPUs are not free, whatever has been written down of the job.
function strayContainer(
  ref: RefOf<"ssh">,
  value: (word: string) => string | undefined,
): Observation | undefined {
  const container = value("container");
  if (container === "unknown") {
    return { phase: "unavailable", detail: `docker on ${ref.host} does not say whether ${ref.marker} runs` };
  }
  if (container !== "running") return undefined;
  const detail = `its program has ended, its container ${ref.marker} runs on`;
  const warning = `${detail} (on ${ref.host}); nobody will write down how it ends: stop the run at once (--now)`;
  return { phase: "live", detail, warning };
}

function ended(ref: RefOf<"ssh">, encoded: string): Observation {
  const source = `${ref.folder}/result.json`;
  const result = parseJson(Buffer.from(encoded, "base64").toString("utf8"), WrapperResult, source);
  if (result.marker !== ref.marker) throw new Error(`${source} belongs to ${result.marker}`);
  const how = result.signal ?? `exit ${result.exitCode}`;
  return { phase: "ended", result, detail: result.detail === "" ? how : `${how}: ${result.detail}` };
}

function supervised(
  ref: RefOf<"ssh">,
  look: {
    readonly supervisor: string;
    readonly machine: Machine;
    readonly value: (word: string) => string | undefined;
  },
): Observation {
  const { machine, value } = look;
  const source = `${ref.folder}/supervisor.json`;
  const supervisor = parseJson(Buffer.from(look.supervisor, "base64").toString("utf8"), Supervisor, source);
  if (supervisor.marker !== ref.marker) throw new Error(`${source} belongs to ${supervisor.marker}`);
  if (supervisor.bootId !== machine.boot) {
    return supervisor.host === machine.node
      ? { phase: "ended", result: null, cause: "node_fail", detail: `${ref.host} was restarted` }
      : { phase: "unavailable", detail: `it runs on ${supervisor.host}, ${ref.host} is ${machine.node}` };
  }
  if (value("alive") === "yes") {
    return { phase: "live", state: "running", detail: `process ${supervisor.pid} on ${ref.host}` };
  }
  const left = value("left")?.trim();
  // A second attempt beside these would train into the same folder.
  if (left !== undefined) {
    const pids = left.split(" ").join(", ");
    const detail = `the wrapper is gone, its processes run on: ${pids}`;
    return {
      phase: "live",
      detail,
      warning: `${detail} (on ${ref.host}); nobody will write down how they end`,
    };
  }
  const stray = strayContainer(ref, value);
  if (stray) return stray;
  return value("alive") === "no"
    ? { phase: "ended", result: null, detail: "killed without a trace" }
    : { phase: "unavailable", detail: `${ref.host} did not say whether process ${supervisor.pid} runs` };
}

function unreported(
  ref: RefOf<"ssh">,
  { value, lines }: { readonly value: (word: string) => string | undefined; readonly lines: readonly Line[] },
): Observation {
  if (lines.some(({ word, rest }) => word === "ticket" && rest === "live")) {
    return { phase: "live", state: "starting", detail: "starting" };
  }
  const claim = value("claim");
  if (claim !== undefined) {
    return Number(claim) < START_SECONDS
      ? { phase: "live", state: "starting", detail: "starting" }
      : { phase: "ended", result: null, detail: "killed before it reported" };
  }
  const said = value("said") ?? "";
  if (value("ticket") === undefined) {
    return { phase: "absent", detail: `nobody has claimed ${ref.marker} on ${ref.host}` };
  }
  const detail = `it ended before it had claimed its marker${said === "" ? "" : `: ${said}`}`;
  return { phase: "ended", result: null, cause: "not_started", detail };
}
