import { availableParallelism } from "node:os";
import { UserError } from "../../../core/errors.ts";
import {
  downloadRepository,
  fetchSource,
  loadSpec,
  packShare,
  packThreads,
  parseShare,
  SPLITS,
  WHOLE_SHARE,
  type Allowances,
  type DownloadRepository,
  type Gate,
  type PackOptions,
  type PackResult,
  type PackWaiting,
} from "../../../dataset/index.ts";
import { defineCommand } from "../../command.ts";
import type { Context } from "../../context.ts";
import { countText } from "../../quantities.ts";
import { problemLines } from "./gate-lines.ts";
import { showHubProgress } from "./hub-progress.ts";
import { showPackProgress } from "./pack-progress.ts";
import { NOT_LOOKED } from "./show-overview.ts";
import { summaryOf } from "./summary.ts";

// More threads wait for the disk, and each holds a row group in memory.
const MOST_THREADS = 4;

export const datasetPack = defineCommand({
  positionals: { name: { describe: "Data set: datasets/NAME.yaml", complete: "dataset" } },
  options: {
    strict: { type: "boolean", describe: "Stop at the first dialogue that would be dropped" },
    allow: {
      type: "string",
      many: true,
      value: "GATE=REASON",
      describe: "Let a violated gate pass; the reason is kept in the lock",
    },
    shard: {
      type: "string",
      value: "I/N",
      describe: "Do the I-th of N parts of the work, e.g. in a Slurm array on a shared folder",
    },
    threads: {
      type: "number",
      value: "N",
      describe: `Threads to pack with; default one for each processor, at most ${MOST_THREADS}`,
    },
  },
  json: true,
  details:
    "Same corpus and spec, same bytes, for any number of threads and parts. Stopped at any point, the same command goes on after the last finished shard. A dialogue that cannot be used is left out and counted: dataset show NAME --drops lists why.",
  examples: [
    "understudy dataset pack greenroom",
    'understudy dataset pack greenroom --allow expected_counts="a subset, on purpose"',
    "understudy dataset pack speechrole-data --shard $SLURM_ARRAY_TASK_ID/$SLURM_ARRAY_TASK_COUNT",
  ],
  handler: async ({ name, strict, allow, shard, threads }, context) => {
    const { print } = context;
    const share = shard === undefined ? WHOLE_SHARE : parseShare(shard);
    const options = await optionsOf(context, { name, strict, allow: allowances(allow), threads });
    const prepare = async (): Promise<void> => fetchHub(context, options, { keep: share !== WHOLE_SHARE });
    const result = await packShare({ ...options, prepare }, share)
      .finally(() => print.progress(""))
      .catch((error: unknown) => {
        if (context.signal.aborted)
          print.note("what is finished is kept: the same command goes on from there");
        throw error;
      });
    if (result.outcome === "waiting") tellWaiting(context, name, result);
    else tellPacked(context, name, result);
  },
});

async function optionsOf(
  context: Context,
  {
    name,
    strict,
    allow,
    threads = Math.min(MOST_THREADS, availableParallelism()),
  }: {
    readonly name: string;
    readonly strict: boolean;
    readonly allow: Allowances;
    readonly threads: number | undefined;
  },
): Promise<PackOptions> {
  if (!Number.isInteger(threads) || threads < 1)
    throw new UserError("THREADS_INVALID", `--threads takes a whole number from 1, not ${threads}`);
  const { print, clock, signal, environment, fetch, secrets } = context;
  const project = await context.project();
  const onProgress = showPackProgress(context, name);
  const crew = packThreads(threads);
  let embedded = 0;
  return {
    project,
    name,
    strict,
    allow,
    signal,
    clock,
    onProgress,
    onWait: (holder) => print.note(`process ${holder} is packing ${name} already; waiting for it`),
    ...(crew && { threads: crew }),
    openEmbedder: async (model) => {
      // The workflows bring all stages with them, and few packs need an embedder.
      const { packEmbedder } = await import("../../../workflow/index.ts");
      const open = packEmbedder({
        project,
        clock,
        environment,
        fetch,
        signal,
        mask: (text) => secrets.mask(text),
        onLine: (text) => print.progress(text),
        onEmbedded: (texts) => {
          embedded += texts;
          onProgress({ phase: "compare", done: embedded, total: null });
        },
      });
      return open(model);
    },
  };
}

// A corpus on the Hub is brought here first. Parts of one pack must not take different commits of a branch.
async function fetchHub(
  context: Context,
  { project, name }: PackOptions,
  { keep }: { readonly keep: boolean },
): Promise<void> {
  const loaded = await loadSpec(project, name);
  if (loaded.spec.source.format !== "hub") return;
  const { environment, fetch, clock, signal, print } = context;
  const onProgress = showHubProgress(context, loaded.spec.source.repo);
  const token = environment["HF_TOKEN"];
  const endpoint = environment["HF_ENDPOINT"];
  const download: DownloadRepository = async (wanted) =>
    downloadRepository({ ...wanted, token, endpoint, fetch, clock, signal, onProgress });
  await fetchSource(loaded, download, { keep }).finally(() => print.progress(""));
}

/** `GATE=REASON` words by gate. UserError `ALLOW_INVALID`. */
export const allowances = (words: readonly string[]): Allowances => {
  const allowed: Record<string, string> = {};
  for (const word of words) {
    const [, gate = "", reason = ""] = /^([^=]+)=(.*)$/s.exec(word) ?? [];
    if (reason.trim() === "")
      throw new UserError("ALLOW_INVALID", `--allow takes GATE=REASON, not "${word}"`, {
        hint: 'the reason is kept in the lock for whoever asks later: --allow expected_counts="a subset, on purpose"',
      });
    if (Object.hasOwn(allowed, gate))
      throw new UserError("ALLOW_INVALID", `--allow ${gate}=… is given twice`, { hint: "give one reason" });
    allowed[gate] = reason.trim();
  }
  return allowed;
};

function tellWaiting({ print }: Context, name: string, waiting: PackWaiting): void {
  const { missing } = waiting;
  const what =
    waiting.for === "survey"
      ? "parts of the corpus are still to be checked"
      : "shards are still to be written";
  print.result({ name, ...waiting }, () => [
    `This part of ${name} is done; ${countText(missing)} ${what} by others`,
    "run the same command again when they have ended: whoever finds everything done writes the lock",
  ]);
}

function tellPacked({ print }: Context, name: string, result: PackResult): void {
  const { lock, lockPath, outcome, reused, lockChanged, removed } = result;
  const { byReason } = lock.drops;
  const allowed = lock.gates.filter((gate) => !gate.passed);
  const value = {
    name,
    outcome,
    lockPath,
    reused,
    lockChanged,
    removed,
    dropped: byReason,
    allowed: allowed.map(({ name: gate, detail, allowed: reason }) => ({ gate, detail, reason })),
    ...summaryOf(lock),
  };
  print.result(value, () => [
    headline(name, result),
    ...SPLITS.map((split) => `  ${split.padEnd(6)}${countText(lock.splits[split].rows)} dialogues`),
    `lock: ${lockPath}`,
    ...(lock.nearDuplicates === null ? [NOT_LOOKED] : []),
  ]);
  const dropped = Object.values(byReason).reduce((sum, count) => sum + count, 0);
  if (dropped > 0)
    print.warn(`${countText(dropped)} dropped; see why: understudy dataset show ${name} --drops`);
  for (const gate of allowed) print.warn(allowedText(name, gate));
  for (const path of removed)
    print.warn(`${path} was no part of ${name}, where a reader of data/* takes it in: it is deleted`);
  if (lockChanged)
    print.warn("the lock differs from the one before: recipes that used it now train on other data");
}

function allowedText(name: string, { name: gate, detail }: Gate): string {
  const problems = problemLines(detail, `understudy dataset show ${name} --json`);
  const listed = problems.length === 1 ? ` ${problems[0]}` : problems.map((line) => `\n    ${line}`).join("");
  return `gate ${gate} is violated and was allowed:${listed}`;
}

function headline(name: string, { reused, shardsReused }: PackResult): string {
  if (reused) return `${name} is packed already: nothing has changed`;
  return shardsReused === 0
    ? `${name} is packed`
    : `${name} is packed; ${countText(shardsReused)} shards were there already`;
}
