import { lockDigest, type DatasetLock } from "../dataset/index.ts";
import type { ProvenanceEntry } from "../report/index.ts";
import type { Run } from "../track/index.ts";
import { lockOf } from "./run-lock.ts";
import type { Shop } from "./shop.ts";

/** What a run was made from: digests, seeds, versions, settings and attempts. */
export const provenanceOf = (shop: Shop, run: Run, dataset: DatasetLock): readonly ProvenanceEntry[] => {
  const { resolved, git, profileName, job, forced } = lockOf(run);
  const fact = (group: string, name: string, value: string): ProvenanceEntry => ({
    group,
    name,
    value,
    origin: null,
  });
  const attempts = shop.store.attempts(run.id);
  return [
    fact("Run", "run", run.id),
    fact(
      "Run",
      "attempts",
      attempts.map(({ number, reason }) => `${number}: ${reason ?? "open"}`).join(", "),
    ),
    fact("Run", "profile", `${profileName} (${job.profile.kind})`),
    fact(
      "Run",
      "git commit",
      git === null ? "not in git" : `${git.commit}${git.dirty ? " + uncommitted changes (kept)" : ""}`,
    ),
    ...(forced.length > 0 ? [fact("Run", "overruled checks", forced.join("; "))] : []),
    fact("Data", "data set", dataset.name),
    fact("Data", "lock digest", lockDigest(dataset)),
    fact("Data", "split seed", String(dataset.seed)),
    fact("Data", "source revision", dataset.sourceRevision),
    fact(
      "Data",
      "rows",
      Object.entries(dataset.splits)
        .map(([split, { rows }]) => `${split} ${rows}`)
        .join(", "),
    ),
    ...(resolved === null
      ? []
      : [
          fact("Recipe", "recipe", resolved.recipe.name),
          fact("Recipe", "recipe digest", run.recipeDigest ?? ""),
          fact("Recipe", "payload digest", resolved.payloadDigest),
          ...settings("", resolved.recipe),
        ]),
    ...versions(shop, run).map(([name, value]) => fact("Versions", name, value)),
  ];
};

const SHOWN = ["model", "prompt", "training", "evaluation"];

function settings(path: string, value: unknown): ProvenanceEntry[] {
  if (typeof value === "object" && value !== null && !Array.isArray(value)) {
    return Object.entries(value).flatMap(([key, inner]: [string, unknown]) =>
      path === "" && !SHOWN.includes(key) ? [] : settings(path === "" ? key : `${path}.${key}`, inner),
    );
  }
  const text = typeof value === "string" ? value : JSON.stringify(value);
  return [{ group: "Settings", name: path, value: text, origin: null }];
}

function versions(shop: Shop, run: Run): [string, string][] {
  const started = shop.store.events(run.id, { types: ["started"] }).at(-1)?.data;
  if (typeof started !== "object" || started === null || !("versions" in started)) return [];
  const { versions: found } = started;
  if (typeof found !== "object" || found === null) return [];
  return Object.entries(found).map(([name, value]: [string, unknown]) => [name, String(value)]);
}
