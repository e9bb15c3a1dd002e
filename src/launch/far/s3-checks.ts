import type { FarProfile } from "../profile.ts";
import type { Check, Job } from "../schema.ts";
import type { Transport } from "../transport/transport.ts";
import { runScript } from "./ask.ts";
import { setupLines } from "./script.ts";
import { readFarFile, type FarWorld } from "./scripts.ts";
import { unlistedIn } from "./staging.ts";

const NAME = "s3";
const DEADLINE = 120_000;

/**
 * Whether the far machine can fetch what a job has in S3, with its own credentials: the tool, and one address of each kind. None for a
 * profile that has nothing there. RemoteErrors `PAYLOAD_INCOMPLETE`.
 */
export const s3Checks = async (
  t: Transport,
  job: Job,
  profile: FarProfile,
  world: Pick<FarWorld, "payload">,
): Promise<readonly Check[]> => {
  const addresses = addressesOf(job, profile);
  if (addresses.length === 0) return [];
  const { endpoint, region } = profile.s3 ?? {};
  const options = Object.entries({ endpoint, region }).flatMap(([name, value]) =>
    value === undefined ? [] : [`--${name}`, value],
  );
  const outcome = await runScript(t, {
    // The program comes on standard input; what setup lines print is no answer.
    script: ["exec 3>&1 1>&2", ...setupLines(profile.setup), 'exec "$@" >&3'].join("\n"),
    args: [profile.python, "-", "check", ...options, ...addresses],
    stdin: await readFarFile(world, "s3_client.py"),
    what: "ask for S3",
    deadline: DEADLINE,
  });
  if (outcome.kind !== "exited" || outcome.code !== 0) {
    const said = outcome.kind === "transport-error" ? outcome.reason : outcome.stderr.trim();
    const detail = `S3 could not be asked: ${said.split("\n").at(-1) ?? ""}`;
    return [{ name: NAME, outcome: "unknown", detail }];
  }
  return parseS3(outcome.stdout.toString("utf8"), profile);
};

// One of each kind says whether the rest can be read, too.
function addressesOf(job: Job, profile: FarProfile): readonly string[] {
  const folder = unlistedIn(job, profile)?.address;
  const one = (role: "data" | "model"): string | undefined =>
    job.inputs.find((input) => input.role === role && input.from !== undefined)?.from;
  return [one("data"), one("model"), folder].filter((address) => address !== undefined);
}

/** The answer of `s3_client.py check`. A login node is not the node that will read: what it cannot reach is a warning. */
export const parseS3 = (text: string, profile: Pick<FarProfile, "kind" | "python">): readonly Check[] => {
  const lines = text.split("\n");
  const [, tool = "none", version = ""] = /^tool (\S+) (.*)$/m.exec(text) ?? [];
  if (tool === "none") {
    const hint = "install one of them there, load it in setup, or take another way in stage";
    return [{ name: NAME, outcome: weight(profile), detail: version, hint }];
  }
  return lines.flatMap((line): Check[] => {
    const [, bytes, found] = /^yes (\d+) (.*)$/.exec(line) ?? [];
    if (found !== undefined) {
      return [{ name: NAME, outcome: "ok", detail: `${tool} ${version} reads ${found} (${bytes} bytes)` }];
    }
    const [, code = "", address = "", words = ""] = /^no (\S+) (\S+) (.*)$/.exec(line) ?? [];
    if (address === "") return [];
    const outcome = code === "failed" ? weight(profile) : "failed";
    return [
      { name: NAME, outcome, detail: `${address} cannot be read there: ${words}`, hint: HINTS[code] ?? "" },
    ];
  });
};

const HINTS: Readonly<Record<string, string>> = {
  denied: "give the machine that runs the job credentials for it: a role, or ~/.aws there",
  missing: "put it there, or correct s3 in the profile",
  failed: "look at that machine's network, and at s3.endpoint in the profile",
};

const weight = ({ kind }: Pick<FarProfile, "kind">): "failed" | "warning" =>
  kind === "ssh" ? "failed" : "warning";
