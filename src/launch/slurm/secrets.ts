import { posix } from "node:path";
import { layoutAt } from "../attempt-layout.ts";
import { tokenFolder } from "../far/index.ts";
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

/** Secrets by the folder where the job looks for them: its own, and the hub's token for the download step. */
export const secretsOf = (
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

/** Removes what a job of this plan was to read: nobody is going to, so it must not lie there. Whoever sends the plan again sends it again. */
export const dropSecrets = async (
  plan: Plan,
  { profile, transport }: Pick<SecretsWorld, "profile"> & { readonly transport: Transport },
): Promise<void> => {
  const folders = [
    ...(namesIn(plan).length === 0 ? [] : [secretsFolder(plan)]),
    ...(profile.stage.model === "node-download" ? [hubFolder(plan)] : []),
  ].map((folder) => posix.normalize(folder));
  if (folders.length === 0) return;
  await execute(transport, ["rm", "-rf", "--", ...folders], { deadline: 30_000 });
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
