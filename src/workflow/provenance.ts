import { lockDigest, type DatasetLock } from "../dataset/index.ts";
import type { ProvenanceEntry } from "../report/index.ts";
import { basename } from "node:path";
import { version as nodeVersion } from "node:process";
import { TEST_OPENED } from "./test-opened.ts";
import type { Run } from "../track/index.ts";
import { lockOf } from "./run-lock.ts";
import type { Shop } from "./shop.ts";

/** What a run was made from: digests, seeds, versions, settings and attempts. */
export const provenanceOf = (shop: Shop, run: Run, dataset: DatasetLock): readonly ProvenanceEntry[] => {
  const { resolved, git, profileName, job, forced, origins } = lockOf(run);
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
    fact("Run", "git commit", git === null ? "not in git" : `${git.commit}${gitWords(git)}`),
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
          ...settings("", resolved.recipe).map((entry) => ({
            ...entry,
            origin: origins[entry.name] ?? null,
          })),
        ]),
    ...opened(shop, run).map((at) => fact("Evaluation", "test split first opened", at)),
    ...evaluationJobs(shop, run).map(([name, value]) => fact("Evaluation", name, value)),
    fact("Versions", "node", nodeVersion),
    ...versions(shop, run).map(([name, value]) => fact("Versions", name, value)),
  ];
};

const gitWords = ({ dirty }: { readonly dirty: boolean | null }): string =>
  dirty === null
    ? "; whether anything was uncommitted is unknown"
    : dirty
      ? " + uncommitted changes (kept)"
      : "";

const opened = (shop: Shop, run: Run): string[] =>
  shop.store.events(run.id, { types: [TEST_OPENED], limit: 1 }).map(({ at }) => at);

// The code that scored need not be the code that trained.
function evaluationJobs(shop: Shop, run: Run): [string, string][] {
  return shop.store
    .listRuns()
    .filter(({ parentId }) => parentId === run.id)
    .toReversed()
    .map((child) => [child.kind, `${child.id}, payload ${basename(lockOf(child).job.payload)}`]);
}

const SHOWN = ["model", "prompt", "training", "evaluation"];

function settings(path: string, value: unknown): ProvenanceEntry[] {
  if (typeof value === "object" && value !== null && !Array.isArray(value)) {
    return Object.entries(value).flatMap(([key, inner]: [string, unknown]) =>
      path === "" && !SHOWN.includes(key) ? [] : settings(path === "" ? key : `${path}.${key}`, inner),
    );
  }
  const text =
    typeof value === "string" ? value : Array.isArray(value) ? value.join(", ") : JSON.stringify(value);
  return [{ group: "Settings", name: path, value: text, origin: null }];
}

function versions(shop: Shop, run: Run): [string, string][] {
  const started = shop.store.events(run.id, { types: ["started"] }).at(-1)?.data;
  if (typeof started !== "object" || started === null || !("versions" in started)) return [];
  const { versions: found } = started;
  if (typeof found !== "object" || found === null) return [];
  return Object.entries(found).map(([name, value]: [string, unknown]) => [name, String(value)]);
}
