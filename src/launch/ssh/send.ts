import { dirname, join } from "node:path";
import { RemoteError } from "../../core/errors.ts";
import { sha256 } from "../../core/hash.ts";
import { prepareEnvironment, secretFile, tokenFolder } from "../far/index.ts";
import type { OpenWorld } from "../launchers.ts";
import type { Plan } from "../schema.ts";
import { ensureUploads, failureOf, readFar, writeFar, type Transport } from "../transport/index.ts";
import type { SshProfile } from "./launcher.ts";
import type { Reservation } from "./reservation.ts";

export interface SendContext {
  readonly profile: SshProfile;
  readonly world: OpenWorld;
}

/**
 * Brings everything the job needs to its host, except what only counts once it may start: inputs and the Python environment.
 * Nothing is started by it; the world's signal ends it, and the next try goes on where it stopped. RemoteErrors of the transport, `INPUT_MISSING`, `FAR_FAILED`; UserErrors of the inputs here.
 */
export const sendInputs = async (
  { host }: Reservation,
  plan: Plan,
  { profile, world }: SendContext,
): Promise<void> => {
  const transport = await host.transport();
  const shared = {
    umask: profile.umask,
    group: profile.group,
    signal: world.signal ?? new AbortController().signal,
  };
  const note = world.onProgress;
  await ensureUploads(transport, plan.uploads, {
    ...shared,
    onProgress: ({ bytes, total }) =>
      note?.({ kind: "upload", text: `sending to ${host.name}`, done: bytes, total }),
  });
  if (plan.prepares === null) return;
  await prepareEnvironment(transport, plan.prepares, {
    ...shared,
    world,
    setup: profile.setup,
    onLine: (text) => note?.({ kind: "environment", text }),
  });
};

/**
 * Writes the planned files, secrets under the name of this submission, and the fence last. RemoteError `PLAN_DIFFERS` when
 * files of another plan for the same attempt lie there.
 */
export const sendFiles = async (
  { host, nonce }: Reservation,
  plan: Plan,
  { profile, world }: SendContext,
): Promise<void> => {
  const transport = await host.transport();
  const fence = join(dirname(dirname(plan.cwd)), "fence");
  const present = await digests(transport, plan);
  for (const { path, text } of plan.files) {
    const found = present.get(path);
    if (path === fence || found === undefined || found === sha256(text)) continue;
    throw new RemoteError(
      "PLAN_DIFFERS",
      `${path} on ${host.name} belongs to another plan for the same attempt`,
    );
  }
  const missing = plan.files.filter(({ path }) => path !== fence && present.get(path) === undefined);
  await Promise.all(missing.map(async (file) => writeFar(transport, file)));
  for (const [folder, secrets] of Object.entries(secretsOf(plan, profile, world))) {
    await secretFile(transport, `${folder}-${nonce}`, secrets);
  }
  for (const file of plan.files.filter(({ path }) => path === fence)) await writeFar(transport, file);
};

// One question for all of them; a file that is not there is complained about and left out.
async function digests(transport: Transport, plan: Plan): Promise<ReadonlyMap<string, string>> {
  const outcome = await transport.exec(["sha256sum", "--", ...plan.files.map(({ path }) => path)]);
  if (outcome.kind !== "exited") throw failureOf(outcome, "look at the attempt's folder");
  const lines = outcome.stdout.toString("utf8").split("\n");
  return new Map(lines.filter((line) => line !== "").map((line) => [line.slice(66), line.slice(0, 64)]));
}

/** Values of secrets by the folder where the job looks for them: its own, and the hub's token for the download step. */
const secretsOf = (
  plan: Plan,
  profile: SshProfile,
  world: OpenWorld,
): Record<string, Record<string, string>> => {
  const own = Object.entries(plan.environment).flatMap(([name, entry]): [string, string][] =>
    "secret" in entry ? [[name, world.secrets.read(entry.secret)]] : [],
  );
  const needsHub = profile.stage.model === "node-download" && world.secrets.has("HF_TOKEN");
  return {
    ...(own.length === 0 ? {} : { [join(plan.cwd, "secrets")]: Object.fromEntries(own) }),
    ...(needsHub
      ? {
          [tokenFolder({ runFolder: dirname(dirname(plan.cwd)) })]: {
            HF_TOKEN: world.secrets.read("HF_TOKEN"),
          },
        }
      : {}),
  };
};

/**
 * A run that goes on on another host takes its events along: whoever reads them knows how far they have been read. What an earlier
 * attempt has written there is their beginning, and is replaced by the whole.
 */
export const carryEvents = async (from: Transport, to: Transport, plan: Plan): Promise<void> => {
  const path = join(dirname(dirname(plan.cwd)), "events.jsonl");
  const bytes = await readFar(from, path);
  // A torn last line stays behind: it may end within a character.
  const text = bytes.toString("utf8", 0, bytes.lastIndexOf(0x0a) + 1);
  await writeFar(to, { path, mode: 0o644, text });
};
