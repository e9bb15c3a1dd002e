import { rm } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import { readIfExists, writeJson } from "../../core/files.ts";
import { sha256 } from "../../core/hash.ts";
import type { Project } from "../../core/project.ts";
import { lockFile } from "../places.ts";
import { DatasetLock, Drop, Gate } from "../schema.ts";
import type { SourceRole } from "../source/source.ts";
import { Sha256 } from "../vocabulary.ts";
import { gateViolated, violatedGates, type Allowances } from "./allowances.ts";
import type { Division } from "./divide.ts";

/** What is kept of a pack that a gate refused: without it nobody could see why, since there is no lock. */
export const RefusedPack = z.strictObject({
  schemaVersion: z.literal(1),
  /** Of the lock of an earlier pack that stood then; null: there was none. */
  lockSha256: Sha256.nullable(),
  roles: z.array(z.strictObject({ id: z.string(), name: z.string(), stem: z.string() })),
  /** Those that refused, each with all that violates it. */
  gates: z.array(Gate.extend({ problems: z.array(z.string()) })),
  drops: z.array(Drop),
});
export type RefusedPack = z.infer<typeof RefusedPack>;

const fileOf = (project: Project, name: string): string =>
  join(project.state, "datasets", `${name}.refused.json`);

/** The last pack, if it was refused; undefined once another one made a lock, here or elsewhere. */
export const readRefused = async (project: Project, name: string): Promise<RefusedPack | undefined> => {
  const refused = parsed(await readIfExists(fileOf(project, name)));
  if (refused === undefined) return undefined;
  return refused.lockSha256 === (await lockSha256(project, name)) ? refused : undefined;
};

/** Forgets it: a pack came through. */
export const forgetRefused = async (project: Project, name: string): Promise<void> =>
  rm(fileOf(project, name), { force: true });

interface Refusable {
  readonly project: Project;
  readonly name: string;
  readonly allow?: Allowances;
}

/**
 * Refuses a division that violates a gate which nobody allowed, and keeps what was found for `readRefused`. UserError
 * `GATE_VIOLATED`.
 */
export const requireGates = async (
  { project, name, allow = {} }: Refusable,
  { toldGates, drops }: Division,
  roles: readonly SourceRole[],
): Promise<void> => {
  const violated = violatedGates(toldGates);
  if (violated.length === 0) return;
  const refused: RefusedPack = {
    schemaVersion: 1,
    lockSha256: await lockSha256(project, name),
    roles: roles.map(({ slug, displayName, stem }) => ({ id: slug, name: displayName, stem })),
    gates: violated.map((gate) => ({ ...gate, problems: [...gate.problems] })),
    drops: [...drops],
  };
  // Only a memory: a state folder that cannot be written must not hide why the pack is refused.
  await writeJson(fileOf(project, name), refused).catch(() => undefined);
  const recorded = await recordedReasons(project, name);
  throw gateViolated(violated, { name, allow, recorded, dropped: drops.length });
};

async function recordedReasons(project: Project, name: string): Promise<Allowances> {
  const text = await readIfExists(lockFile(project, name));
  const lock = DatasetLock.safeParse(jsonOf(text));
  const reasons = (lock.data?.gates ?? []).flatMap(({ name: gate, allowed }) =>
    allowed === null ? [] : [[gate, allowed] as const],
  );
  return Object.fromEntries(reasons);
}

async function lockSha256(project: Project, name: string): Promise<string | null> {
  const text = await readIfExists(lockFile(project, name));
  return text === undefined ? null : sha256(text);
}

const parsed = (text: string | undefined): RefusedPack | undefined =>
  RefusedPack.safeParse(jsonOf(text)).data;

function jsonOf(text: string | undefined): unknown {
  try {
    return JSON.parse(text ?? "");
  } catch {
    return undefined;
  }
}
