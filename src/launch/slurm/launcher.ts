import { join } from "node:path";
import { messageOf, UnderstudyError } from "../../core/errors.ts";
import { readIfExists } from "../../core/files.ts";
import { layoutAt } from "../attempt-layout.ts";
import { checkFar, probeFar } from "../far/index.ts";
import { cudaOfLock } from "../far/gpu-checks.ts";
import type { Launcher } from "../launcher.ts";
import type { OpenWorld } from "../launchers.ts";
import type { ProfileOf } from "../profile.ts";
import {
  jobKey,
  type Check,
  type Job,
  type JobKey,
  type JobRef,
  type Observation,
  type Plan,
  type RefOf,
} from "../schema.ts";
import { farArtifacts, farLog, impatiently, openTransport } from "../transport/index.ts";
import type { Transport } from "../transport/transport.ts";
import { cancelSlurm } from "./cancel.ts";
import { openCluster, type Cluster } from "./cluster.ts";
import { droppedNames } from "./command.ts";
import { findSlurm } from "./find.ts";
import { lazyTransport } from "./lazy-transport.ts";
import { planSlurm } from "./plan.ts";
import { preflightSlurm, probeSlurm } from "./preflight.ts";
import { dropSecrets } from "./secrets.ts";
import { submitSlurm, type SubmitWorld } from "./submit.ts";
import { slurmNotes, validateSlurm } from "./validate.ts";
import { watchQueue, type QueueWatch } from "./watch-queue.ts";

type SlurmProfile = ProfileOf<"slurm">;
type SlurmRef = RefOf<"slurm">;

/** Runs jobs with the Slurm commands of this machine, or of a login node: they outlive this program. */
export const slurmLauncher = async (profile: SlurmProfile, world: OpenWorld): Promise<Launcher> => {
  const cuda = cudaOfLock((await readIfExists(join(world.payload, "requirements-cuda.lock"))) ?? "");
  const transport = openLogin(profile, world);
  const clusters = openClusters(profile, world, transport);
  const settings: SubmitWorld = {
    profile,
    world,
    transport,
    clock: world.clock,
    deadlineSeconds: profile.deadlineSeconds,
    clusters: namesIn(profile).map((name) => clusters(name).watch),
    firstWithout: new Map(),
  };
  const forget = (): void => {
    for (const name of namesIn(profile)) clusters(name).watch.forget();
  };
  const plan = (job: Job, attempt: Plan["attempt"]): Plan => ({
    ...planSlurm(job, attempt, { profile, world, cuda }),
    // On a login node they are another shell's, and are dropped there.
    ...(profile.login === undefined ? { dropped: droppedNames(world.environment) } : {}),
  });
  const checks = { transport, profile, cluster: clusters(namesIn(profile)[0] ?? null).cluster };
  return {
    kind: "slurm",
    validate: (job) => validateSlurm(job, profile),
    plan,
    probe: async () => {
      const asked = openLogin(impatiently(profile), world);
      const cluster = openClusters(profile, world, asked)(namesIn(profile)[0] ?? null).cluster;
      try {
        return await reached(
          async () => probeFar(asked, profile, world),
          async () => probeSlurm({ transport: asked, profile, cluster }),
        );
      } finally {
        await asked.close();
      }
    },
    preflight: async (job) => [
      ...slurmNotes(job, profile),
      ...(await reached(
        async () => checkFar(transport, job, profile, world),
        async () => preflightSlurm(plan(job, PREFLIGHT), checks),
      )),
    ],
    submit: async (request) => {
      const answer = await submitSlurm(request, settings);
      forget();
      return answer;
    },
    find: async (request) => {
      const found = await findSlurm(request, settings);
      // What is sent again comes with its secrets; what is given up must not leave them there.
      if (found.outcome === "none") await dropSecrets(request, settings);
      return found;
    },
    observe: async (refs) => observeAll(refs.filter(isSlurm), clusters),
    logs: (ref, cursor, options) => farLog(transport, layoutAt(ref.folder).log, cursor, options, world.clock),
    artifacts: (ref) => farArtifacts(transport, layoutAt(ref.folder).run),
    cancel: async (ref, mode) => {
      if (!isSlurm(ref)) return "already-ended";
      const { watch } = clusters(ref.cluster);
      const observe = async (): Promise<Observation> =>
        (await watch.observe([ref])).get(jobKey(ref)) ?? { phase: "unavailable", detail: "not seen" };
      return cancelSlurm(ref, mode, {
        transport,
        observe,
        complete: (one) => watch.complete(one),
        deadlineSeconds: profile.deadlineSeconds,
      });
    },
    close: async () => transport.close(),
  };
};

// Of a plan that is asked about and never sent.
const PREFLIGHT = { number: 1, marker: "us-preflight-a1", token: "preflight" };

const openLogin = (profile: SlurmProfile, world: OpenWorld): Transport =>
  lazyTransport(`Slurm at ${profile.login?.host ?? "this machine"}`, async () =>
    openTransport(profile.login ?? null, profile, world),
  );

const isSlurm = (ref: JobRef): ref is SlurmRef => ref.kind === "slurm";

interface Watched {
  readonly cluster: Cluster;
  readonly watch: QueueWatch;
}

function openClusters(
  profile: SlurmProfile,
  world: OpenWorld,
  transport: Transport,
): (name: string | null) => Watched {
  const { deadlineSeconds, pollSeconds } = profile;
  const settings = { transport, clock: world.clock, deadlineSeconds };
  const known = new Map<string | null, Watched>();
  return (name) => {
    const cluster = known.get(name)?.cluster ?? openCluster(name, settings);
    const watched = known.get(name) ?? { cluster, watch: watchQueue(cluster, settings, pollSeconds) };
    known.set(name, watched);
    return watched;
  };
}

/** Clusters that the profile's options name; `[null]` for the only one. */
function namesIn({ extra }: SlurmProfile): readonly (string | null)[] {
  const names = extra.flatMap((option) => /^--clusters?=(.+)$/.exec(option)?.[1]?.split(",") ?? []);
  return names.length === 0 ? [null] : names;
}

async function observeAll(
  refs: readonly SlurmRef[],
  clusters: (name: string | null) => Watched,
): Promise<ReadonlyMap<JobKey, Observation>> {
  const names = [...new Set(refs.map(({ cluster }) => cluster))];
  const answers = await Promise.all(
    names.map(async (name) => clusters(name).watch.observe(refs.filter(({ cluster }) => cluster === name))),
  );
  return new Map(answers.flatMap((answer) => [...answer]));
}

// A machine that cannot be reached is one fault: what its scheduler would have said is not asked.
async function reached(
  machine: () => Promise<readonly Check[]>,
  scheduler: () => Promise<readonly Check[]>,
): Promise<readonly Check[]> {
  let checks: readonly Check[];
  try {
    checks = await machine();
  } catch (error) {
    const hint = error instanceof UnderstudyError ? error.hint : undefined;
    return [
      {
        name: "connection",
        outcome: "failed",
        detail: messageOf(error),
        ...(hint === undefined ? {} : { hint }),
      },
    ];
  }
  return [...checks, ...(await scheduler())];
}
