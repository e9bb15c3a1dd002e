import { join } from "node:path";
import { RemoteError, UserError } from "../core/errors.ts";
import { exists, readIfExists, writeAtomic } from "../core/files.ts";
import { runProgram } from "../core/process.ts";
import { withProcessLock } from "../core/process-lock.ts";
import type { ModelChoice } from "../recipe/index.ts";
import type { PayloadSnapshot } from "./payload-snapshot.ts";
import type { Shop } from "./shop.ts";

export interface PreparedModel {
  /** Folder of a full Qwen2.5-Omni on this machine. */
  readonly path: string;
  readonly revision: string;
}

/** Where published weights lie on this machine. */
export const publishedFolder = (
  { project }: Pick<Shop, "project">,
  { id, revision }: Extract<ModelChoice, { kind: "hub" }>,
): string => join(modelsFolder(project), `${id.replaceAll("/", "--")}@${revision}`);

/** A tiny model's folder on this machine; `revision` null while it is not made. */
export const madeModel = async (
  { project }: Pick<Shop, "project">,
  { seed }: Extract<ModelChoice, { kind: "tiny" }>,
  payload: Pick<PayloadSnapshot, "digest">,
): Promise<{ readonly path: string; readonly revision: string | null }> => {
  const path = join(modelsFolder(project), `tiny-${seed}-${payload.digest.slice(0, 12)}`);
  const revision = await readIfExists(revisionFile(path));
  return { path, revision: revision !== undefined && (await exists(path)) ? revision.trim() : null };
};

const modelsFolder = ({ state }: Shop["project"]): string => join(state, "models");
const revisionFile = (path: string): string => `${path}.revision`;

/**
 * The model folder of a recipe on this machine. The tiny one is made on the spot, once per seed and payload; published
 * weights must lie under the state's models folder already (UserError `MODEL_MISSING` says where and how). The interpreter
 * is asked for only when it is needed: weights that are missing are told before gigabytes are installed.
 */
export const prepareModel = async (
  shop: Shop,
  choice: ModelChoice,
  from: { readonly python: () => Promise<string>; readonly payload: PayloadSnapshot },
): Promise<PreparedModel> => {
  if (choice.kind === "hub") return published(shop, choice);
  const { path, revision } = await madeModel(shop, choice, from.payload);
  if (revision !== null) return { path, revision };
  const options = { clock: shop.clock, signal: shop.signal };
  return withProcessLock(`${path}.lock`, options, async () => {
    // Whoever held the lock before may have made it.
    const made = await madeModel(shop, choice, from.payload);
    if (made.revision !== null) return { path, revision: made.revision };
    const python = await from.python();
    const built = await buildTiny(shop, { python, payload: from.payload, path, seed: choice.seed });
    await writeAtomic(revisionFile(path), `${built}\n`);
    return { path, revision: built };
  });
};

async function buildTiny(
  shop: Shop,
  made: {
    readonly python: string;
    readonly payload: PayloadSnapshot;
    readonly path: string;
    readonly seed: number;
  },
): Promise<string> {
  const { PATH, HOME } = shop.environment;
  const result = await runProgram(
    [made.python, "-m", "understudy_payload", "tiny-model", made.path, "--seed", String(made.seed)],
    {
      env: { PATH, HOME, PYTHONPATH: made.payload.folder, HF_HUB_OFFLINE: "1" },
      signal: shop.signal,
    },
  );
  const revision = /\b[0-9a-f]{64}\b/.exec(result.stdout)?.[0];
  if (result.exitCode === 0 && revision !== undefined) return revision;
  throw new RemoteError("MODEL_FAILED", `The tiny model could not be made: ${lastLine(result.stderr)}`, {
    hint: "run the same command again; if it fails again, delete the environments folder in the state folder",
  });
}

async function published(shop: Shop, choice: Extract<ModelChoice, { kind: "hub" }>): Promise<PreparedModel> {
  const path = publishedFolder(shop, choice);
  if (await exists(join(path, "config.json"))) return { path, revision: `${choice.id}@${choice.revision}` };
  throw modelMissing(choice, path);
}

/** What to do about weights that have to lie on this machine and do not. */
export const modelMissing = (
  { id, revision }: Extract<ModelChoice, { kind: "hub" }>,
  path: string,
): UserError =>
  new UserError("MODEL_MISSING", `The weights of ${id} at ${revision} are not on this machine`, {
    hint: `download them once: hf download ${id} --revision ${revision} --local-dir ${path}`,
  });

function lastLine(text: string): string {
  return text.trim().split("\n").at(-1) ?? "";
}
