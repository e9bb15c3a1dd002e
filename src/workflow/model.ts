import { join } from "node:path";
import { RemoteError, UserError } from "../core/errors.ts";
import { exists, readIfExists, writeAtomic } from "../core/files.ts";
import { runProgram } from "../core/process.ts";
import { withProcessLock } from "../launch/index.ts";
import type { ModelChoice } from "../recipe/index.ts";
import type { Shop } from "./shop.ts";

export interface PreparedModel {
  /** Folder of a full Qwen2.5-Omni on this machine. */
  readonly path: string;
  readonly revision: string;
}

/**
 * The model folder of a recipe on this machine. The tiny one is made on the spot, once per seed and payload; published
 * weights must lie under the state's models folder already (UserError `MODEL_MISSING` says where and how).
 */
export const prepareModel = async (
  shop: Shop,
  choice: ModelChoice,
  made: { readonly python: string; readonly payloadDigest: string },
): Promise<PreparedModel> => {
  const models = join(shop.project.state, "models");
  if (choice.kind === "hub") return published(models, choice);
  const path = join(models, `tiny-${choice.seed}-${made.payloadDigest.slice(0, 12)}`);
  const revisionFile = `${path}.revision`;
  const known = await readIfExists(revisionFile);
  if (known !== undefined && (await exists(path))) return { path, revision: known.trim() };
  const options = { clock: shop.clock, signal: shop.signal };
  return withProcessLock(`${path}.lock`, options, async () => {
    const revision = await buildTiny(shop, { python: made.python, path, seed: choice.seed });
    await writeAtomic(revisionFile, `${revision}\n`);
    return { path, revision };
  });
};

async function buildTiny(
  shop: Shop,
  { python, path, seed }: { readonly python: string; readonly path: string; readonly seed: number },
): Promise<string> {
  const { PATH, HOME } = shop.environment;
  const result = await runProgram(
    [python, "-m", "understudy_payload", "tiny-model", path, "--seed", String(seed)],
    {
      env: { PATH, HOME, PYTHONPATH: shop.payload, HF_HUB_OFFLINE: "1" },
      signal: shop.signal,
    },
  );
  const revision = /\b[0-9a-f]{64}\b/.exec(result.stdout)?.[0];
  if (result.exitCode === 0 && revision !== undefined) return revision;
  throw new RemoteError("MODEL_FAILED", `The tiny model could not be made: ${lastLine(result.stderr)}`, {
    hint: "run the same command again; if it fails again, delete the environments folder in the state folder",
  });
}

async function published(
  models: string,
  { id, revision }: Extract<ModelChoice, { kind: "hub" }>,
): Promise<PreparedModel> {
  const path = join(models, `${id.replaceAll("/", "--")}@${revision}`);
  if (await exists(join(path, "config.json"))) return { path, revision: `${id}@${revision}` };
  throw new UserError("MODEL_MISSING", `The weights of ${id} at ${revision} are not on this machine`, {
    hint: `download them once: hf download ${id} --revision ${revision} --local-dir ${path}`,
  });
}

function lastLine(text: string): string {
  return text.trim().split("\n").at(-1) ?? "";
}
