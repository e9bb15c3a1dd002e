import { join } from "node:path";
import { readIfExists } from "../../core/files.ts";
import type { FarProfile } from "../profile.ts";
import type { Check, Job } from "../schema.ts";
import { must } from "../transport/index.ts";
import type { ExecOutcome, Transport } from "../transport/transport.ts";
import { runScript } from "./ask.ts";
import { diskChecks } from "./disk-checks.ts";
import { environmentFolder, farDevice } from "./environment-folder.ts";
import { parseFacts, type FarFacts } from "./facts.ts";
import { cudaOfLock, gpuChecks } from "./gpu-checks.ts";
import { parseGpus } from "./gpus.ts";
import { inputChecks } from "./input-checks.ts";
import { lookAtInputs } from "./inputs.ts";
import { machineChecks } from "./machine-checks.ts";
import { modelChecks, unlistedModel } from "./model-checks.ts";
import { indexChecks, indexQuestions } from "./index-checks.ts";
import { diskNeeds, environmentNeed } from "./needs.ts";
import { purgeCheck } from "./purge-check.ts";
import { s3Checks } from "./s3-checks.ts";
import { setupLines } from "./script.ts";
import { readFarScript, type FarWorld } from "./scripts.ts";

/**
 * What a far machine is like, without a job; one question. Nothing is changed there. GPUs are looked at where jobs run on the
 * machine itself: a login node has none. RemoteErrors `TRANSPORT_…`, `FAR_COMMAND_FAILED`.
 */
export const probeFar = async (
  t: Transport,
  profile: FarProfile,
  world: FarWorld,
): Promise<readonly Check[]> => {
  const environment = await environmentFolder(profile, world.payload);
  const asked = await askFacts(t, profile, world, {
    environment: environment ?? undefined,
    indexes: indexQuestions(profile, world),
  });
  const isMade = environment === null || asked.facts.environment !== null;
  const needs = isMade ? [] : [environmentNeed(profile.paths.env, farDevice(profile))];
  return [
    ...(await commonChecks(asked, profile, { world, gpus: profile.processes })),
    ...(isMade ? [] : indexChecks(asked.facts.indexes)),
    ...diskChecks(asked.facts, needs),
  ];
};

/** The same for a job, with what it is going to write and the inputs that must be there; two questions. */
export const checkFar = async (
  t: Transport,
  job: Job,
  profile: FarProfile,
  world: FarWorld,
): Promise<readonly Check[]> => {
  const asked = await askFacts(t, profile, world, {
    environment: job.environment?.folder,
    model: unlistedModel(job, profile) ?? undefined,
  });
  const inputs = await lookAtInputs(t, job.inputs, { records: join(profile.paths.env, "trust"), world });
  const needs = diskNeeds(job, profile, { inputs, environment: asked.facts.environment !== null });
  const gpus = job.kind === "train" ? profile.processes : 1;
  return [
    ...(await commonChecks(asked, profile, { world, gpus })),
    ...diskChecks(asked.facts, needs),
    ...inputChecks(job, profile, inputs),
    ...modelChecks(job, profile, asked.facts.model),
    ...(await s3Checks(t, job, profile, world)),
    ...purgeCheck(profile),
  ];
};

interface Asked {
  readonly facts: FarFacts;
  /** Seconds that the far clock is ahead of ours; null when unknown. */
  readonly skew: number | null;
  /** What a setup line said when it failed; the facts are those without setup then. */
  readonly setupFailed: string | null;
}

async function commonChecks(
  { facts, skew, setupFailed }: Asked,
  profile: FarProfile,
  { world, gpus }: { readonly world: FarWorld; readonly gpus: number },
): Promise<readonly Check[]> {
  const lock = (await readIfExists(join(world.payload, "requirements-cuda.lock"))) ?? "";
  const cuda = profile.container === undefined ? cudaOfLock(lock) : null;
  const need = { device: profile.device, count: gpus, cuda, maxHeldMebibytes: heldOf(profile) };
  return [
    ...setupChecks(profile, setupFailed),
    ...machineChecks(facts, profile, skew),
    ...(profile.kind === "ssh" ? gpuChecks(parseGpus(facts.gpuLines), need) : []),
  ];
}

function heldOf(profile: FarProfile): number {
  return profile.kind === "ssh" ? profile.maxHeldMebibytes : 0;
}

function setupChecks({ setup }: FarProfile, failed: string | null): readonly Check[] {
  if (setup.length === 0) return [];
  const name = "setup";
  return failed === null
    ? [{ name, outcome: "ok", detail: `${setup.length} lines ran` }]
    : [
        {
          name,
          outcome: "failed",
          detail: failed,
          hint: "run the setup lines of the profile on that machine by hand",
        },
      ];
}

const SETUP_FAILED = 69;
const DEADLINE = 120_000;

async function askFacts(t: Transport, profile: FarProfile, world: FarWorld, of: Folders): Promise<Asked> {
  const script = await readFarScript(world, "check");
  const args = questions(profile, of);
  const ask = async (
    setup: readonly string[],
  ): Promise<{ outcome: ExecOutcome; skew: (facts: FarFacts) => number | null }> => {
    const text = [...quietly(setup), script].join("\n");
    const outcome = await runScript(t, { script: text, args, what: "look", deadline: DEADLINE });
    // Asked last on the far side: it is at most the way back old.
    const here = world.clock.now() / 1000;
    return { outcome, skew: ({ time }) => (time === null ? null : time - here) };
  };
  let { outcome, skew } = await ask(profile.setup);
  let setupFailed: string | null = null;
  if (outcome.kind === "exited" && outcome.code === SETUP_FAILED) {
    setupFailed = outcome.stderr.trim().split("\n").slice(-3).join("; ");
    ({ outcome, skew } = await ask([]));
  }
  const facts = parseFacts(must(outcome, `look at ${t.name}`).toString("utf8"));
  return { facts, skew: skew(facts), setupFailed };
}

// What setup lines print is no fact.
function quietly(setup: readonly string[]): readonly string[] {
  return setup.length === 0 ? [] : ["exec 3>&1 1>&2", ...setupLines(setup), "exec 1>&3 3>&-"];
}

/** What to ask about besides the profile's own. */
interface Folders {
  readonly indexes?: readonly string[];
  readonly environment?: string | undefined;
  readonly model?: string | undefined;
}

function questions(profile: FarProfile, { environment, model, indexes = [] }: Folders): readonly string[] {
  const { container, paths, group, wheelhouse, device, kind } = profile;
  const image = container?.image.startsWith("/") ? container.image : undefined;
  const { stage } = profile;
  const asksPython =
    container === undefined || stage.model === "node-download" || Object.values(stage).includes("s3");
  const optional = {
    python: asksPython ? profile.python : undefined,
    group,
    engine: container?.engine,
    image,
    wheelhouse,
    environment,
    model,
    gpus: kind === "ssh" && device !== "cpu" ? "yes" : undefined,
  };
  const { tmp, ...shared } = paths;
  const folders = [...new Set(kind === "ssh" ? [...Object.values(shared), tmp] : Object.values(shared))];
  return [
    ...Object.entries(optional).flatMap(([name, value]) => (value === undefined ? [] : [`--${name}`, value])),
    ...folders.flatMap((folder) => ["--folder", folder]),
    ...indexes,
  ];
}
