import { join } from "node:path";
import { z } from "zod";
import { parseJson, readIfExists, writeAtomic } from "../core/files.ts";
import { isOwnerGone } from "../core/process-owner.ts";
import type { Observation } from "../launch/index.ts";
import type { Shop } from "./shop.ts";
import { inTurnAt } from "./turn.ts";
import type { Group, Watched } from "./watch-groups.ts";
import { warningOf } from "./watch-live.ts";

/** What is known of a run beside its record, from the newest question to its launcher. */
const Seen = z.strictObject({
  unavailable: z.string().nullable(),
  warning: z.string().nullable(),
  trouble: z.string().nullable(),
});
export type Seen = z.infer<typeof Seen>;

/** The newest question to a launcher about all of its runs, by whichever process of this project has asked it. */
export const SharedLook = z.strictObject({
  schemaVersion: z.literal(1),
  /** Milliseconds since the epoch: when the question began. */
  askedAt: z.number(),
  /** The process that asked. */
  owner: z.string(),
  purpose: z.enum(["watch", "look"]),
  /** Runs of which there is anything to tell. */
  runs: z.record(z.string(), Seen),
});
export type SharedLook = z.infer<typeof SharedLook>;

type Files = Pick<Shop, "project">;
type Named = Pick<Group, "name" | "pace">;

// A launcher of this machine costs nothing to ask.
const WORTH_SHARING = 1000;

/** True when its question costs others something: then its answer is shared. */
export const isShared = ({ pace }: Pick<Group, "pace">): boolean => pace.fastest >= WORTH_SHARING;

const folderOf = ({ project }: Files): string => join(project.state, "looks");
const fileOf = (shop: Files, { name }: Named): string => join(folderOf(shop), `${name}.json`);

/** Undefined where nobody has asked yet, or what was kept cannot be read: it is only kept to save a question. */
export const readSharedLook = async (shop: Files, group: Named): Promise<SharedLook | undefined> => {
  try {
    const text = await readIfExists(fileOf(shop, group));
    return text === undefined ? undefined : parseJson(text, SharedLook, fileOf(shop, group));
  } catch {
    return undefined;
  }
};

/** Keeps an answer for the other processes; one that cannot be kept is asked for again by them. */
export const keepSharedLook = async (shop: Files, group: Named, look: SharedLook): Promise<void> => {
  if (!isShared(group)) return;
  try {
    await writeAtomic(fileOf(shop, group), JSON.stringify(look));
  } catch {
    // A full disk is told by whoever has something to keep.
  }
};

/** What a question has brought that is not in the runs' records. */
export const toldOf = (
  watched: readonly Pick<Watched, "head">[],
  sights: readonly (Observation | undefined)[],
  troubles: ReadonlyMap<string, string>,
): SharedLook["runs"] =>
  Object.fromEntries(
    watched.flatMap(({ head: { id } }, at) => {
      const observation = sights[at];
      const unavailable = observation?.phase === "unavailable" ? observation.detail : null;
      const seen: Seen = { unavailable, warning: warningOf(observation), trouble: troubles.get(id) ?? null };
      return Object.values(seen).every((value) => value === null) ? [] : [[id, seen]];
    }),
  );

// Who watches asks as often as the profile allows, and needs some time for the asking.
const SLACK = 11_000;

/** True while the process that watches the launcher's runs lives and keeps asking. */
export const isWatching = async (
  { clock }: Pick<Shop, "clock">,
  group: Named,
  look: SharedLook | undefined,
): Promise<boolean> =>
  look?.purpose === "watch" &&
  clock.now() - look.askedAt < 2 * group.pace.slowest + SLACK &&
  !(await isOwnerGone(look.owner));

/** True when the launcher need not be asked again: its answer is younger than the interval, or somebody watches. */
export const isFresh = async (
  shop: Pick<Shop, "clock">,
  group: Named,
  look: SharedLook | undefined,
): Promise<boolean> => {
  if (look === undefined) return false;
  const age = shop.clock.now() - look.askedAt;
  // A clock that was put back must not silence a launcher for ever.
  if (age < 0) return false;
  return age < group.pace.fastest || (await isWatching(shop, group, look));
};

/** Does `ask` unless another process of this project asks the same launcher just now; then `busy`. */
export const inTurn = async (
  shop: Files & Pick<Shop, "clock" | "signal" | "owner">,
  group: Named,
  ask: () => Promise<void>,
): Promise<"done" | "busy"> => inTurnAt(shop, join(folderOf(shop), `${group.name}.turn`), ask);
