import { randomUUID } from "node:crypto";
import { posix } from "node:path";
import { layoutAt } from "../attempt-layout.ts";
import { secretFile, tokenFolder } from "../far/index.ts";
import type { OpenWorld } from "../launchers.ts";
import type { ProfileOf } from "../profile.ts";
import { jobKey, type JobKey, type Observation, type Plan, type RefOf } from "../schema.ts";
import type { Transport } from "../transport/transport.ts";
import { execute } from "./command.ts";
import type { RunFiles } from "./far-evidence.ts";
import { numberOf } from "./identity.ts";
import { secretsFolder } from "./plan.ts";
import { failureOf } from "./squeue.ts";

interface SecretsWorld {
  readonly profile: ProfileOf<"slurm">;
  readonly world: OpenWorld;
}

const HUB = "HF_TOKEN";
const hubFolder = ({ cwd }: Plan): string => tokenFolder({ runFolder: layoutAt(cwd).run });

/** Says of one submission which secrets are its own: attempts have a token each, but an attempt may be sent more than once. */
export const newSubmission = ({ attempt }: Plan): string => `${attempt.token}.${randomUUID()}`;

// Beside the values, and there before them.
const TAG = "UNDERSTUDY_SUBMISSION";

/** Stores what the job is to read, as this submission's. The errors are those of `secretFile`. */
export const storeSecrets = async (
  plan: Plan,
  submission: string,
  { profile, world, transport }: SecretsWorld & { readonly transport: Transport },
): Promise<void> => {
  for (const [folder, secrets] of secretsOf(plan, { profile, world })) {
    await secretFile(transport, folder, { [TAG]: submission, ...secrets });
  }
};

/** Secrets by the folder where the job looks for them: its own, and the hub's token for the download step. */
const secretsOf = (
  plan: Plan,
  { profile, world }: SecretsWorld,
): readonly (readonly [string, Readonly<Record<string, string>>])[] => {
  const { secrets } = world;
  const own = namesIn(plan).map((name): [string, string] => [name, secrets.read(name)]);
  const needsHub = profile.stage.model === "node-download" && secrets.has(HUB);
  return [
    ...(own.length === 0 ? [] : [[secretsFolder(plan), Object.fromEntries(own)] as const]),
    ...(needsHub ? [[hubFolder(plan), { [HUB]: secrets.read(HUB) }] as const] : []),
  ];
};

// All that a submission knows to be its own is dropped, however late: by then another may have stored its secrets there. Those of
// a whole attempt may have no name, when an earlier version has stored them.
const DROP = `
wanted=$1
shift
code=0
for folder do
  [ -d "$folder" ] || continue
  found=
  { IFS= read -r found <"$folder/${TAG}" || :; } 2>/dev/null
  case $found in
    "$wanted") ;;
    '' | "$wanted"*) case $wanted in *.) ;; *) continue ;; esac ;;
    *) continue ;;
  esac
  rm -rf -- "$folder" || code=1
done
exit $code
`;

/**
 * Removes what a job of this plan was to read: nobody is going to, so it must not lie there. Whoever sends the plan again sends it
 * again. Of one `submission`; else of all that have sent this attempt. Those of others stay.
 */
export const dropSecrets = async (
  plan: Plan,
  { profile, transport }: Pick<SecretsWorld, "profile"> & { readonly transport: Transport },
  submission = `${plan.attempt.token}.`,
): Promise<void> => {
  const folders = [
    ...(namesIn(plan).length === 0 ? [] : [secretsFolder(plan)]),
    ...(profile.stage.model === "node-download" ? [hubFolder(plan)] : []),
  ].map((folder) => posix.normalize(folder));
  if (folders.length === 0) return;
  const argv = ["sh", "-c", DROP, "drop", submission, ...folders] as const;
  await execute(transport, argv, { deadline: 30_000 });
};

const namesIn = ({ environment }: Plan): readonly string[] =>
  Object.values(environment).flatMap((entry) => ("secret" in entry ? [entry.secret] : []));

// A folder is removed when it is not newer than some submission of an attempt up to the given one: a later submission, which may
// be under way, writes its secrets after all of those.
const SWEEP = `
code=0
while IFS=' ' read -r upto run; do
  cd "$run" || { code=1; continue; }
  for folder in secrets attempts/*/secrets; do
    [ -d "$folder" ] || continue
    for link in attempts/*/submission/link-*; do
      number=\${link#attempts/} number=\${number%%/*}
      case $number in *[!0-9]*) continue ;; esac
      [ -d "$link" ] && [ "$number" -le "$upto" ] && ! [ "$folder" -nt "$link" ] || continue
      rm -rf -- "$folder" || code=1
      break
    done
  done
done
exit $code
`;

/**
 * Removes the secrets of runs whose jobs are known to have ended without having read them. Returns what is to be said instead of
 * the end: nothing yet, while the far machine cannot be reached for it, or the end with what could not be removed.
 */
export const sweepSecrets = async (
  seen: readonly (readonly [RefOf<"slurm">, Observation])[],
  runs: ReadonlyMap<string, RunFiles>,
  { transport, deadlineSeconds }: { readonly transport: Transport; readonly deadlineSeconds: number },
): Promise<ReadonlyMap<JobKey, Observation>> => {
  const over = seen.flatMap(([ref, one]) => {
    const { run } = layoutAt(ref.folder);
    const secrets = runs.get(run)?.secrets ?? [];
    const isOver = one.phase === "ended" && one.continues === undefined && secrets.length > 0;
    return isOver ? [{ ref, one, run, secrets }] : [];
  });
  if (over.length === 0) return new Map();
  const stdin = over.map(({ ref, run }) => `${numberOf(ref.marker)} ${run}\n`).join("");
  const outcome = await execute(transport, ["sh", "-c", SWEEP], { stdin, deadline: deadlineSeconds * 1000 });
  if (outcome.kind === "exited" && outcome.code === 0) return new Map();
  const why = failureOf("removing secrets", outcome) ?? "it failed";
  return new Map(
    over.map(({ ref, one, run, secrets }) => [
      jobKey(ref),
      outcome.kind === "exited"
        ? {
            ...one,
            detail: `${one.detail}; remove ${secrets.map((name) => `${run}/${name}`).join(", ")}: ${why}`,
          }
        : { phase: "unavailable", detail: `its secrets lie there still: ${why}` },
    ]),
  );
};
