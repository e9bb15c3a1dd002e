import { isoTime } from "../core/clock.ts";
import type { RunHead } from "../track/index.ts";
import {
  inTurn,
  isFresh,
  isShared,
  isWatching,
  readSharedLook,
  type Seen,
  type SharedLook,
} from "./shared-look.ts";
import type { Shop } from "./shop.ts";
import { watchPass } from "./watch.ts";
import { groupFor, newWatcher, type Group } from "./watch-groups.ts";
import type { RunLook } from "./watch-look.ts";

/**
 * `due`: a launcher is asked when nobody has asked it for its interval and nobody watches. `now`: it is asked whatever is known.
 * `never`: only what is known already.
 */
export type Ask = "due" | "now" | "never";

/** What is known of a run beside its record. */
export interface Sighting extends Seen {
  /** ISO time of the question that this is from; null where there was none. */
  readonly askedAt: string | null;
  /** This command has asked just now, and nobody before it. */
  readonly own: boolean;
  /** Some process watches all runs of its launcher. */
  readonly watched: boolean;
}

const NOTHING: Seen = { unavailable: null, warning: null, trouble: null };

/**
 * Looks at the runs that have not ended without acting: all of the launchers that `heads` use, each with one question at most, and
 * with none where another process of this project has asked it a moment ago.
 */
export const lookAtRuns = async (
  shop: Shop,
  heads: readonly RunHead[],
  ask: Ask,
): Promise<ReadonlyMap<string, Sighting>> => {
  const { groups, broken } = grouped(shop, heads);
  const seen = new Map<string, Sighting>();
  const works = [...groups].map(async ([group, ids]) => {
    const look = await lookAtLauncher(shop, group, ask);
    for (const id of ids)
      seen.set(id, {
        ...NOTHING,
        ...look.runs[id],
        askedAt: look.askedAt,
        own: look.own,
        watched: look.watched,
      });
  });
  await Promise.all(works);
  for (const [id, trouble] of broken)
    seen.set(id, { ...NOTHING, trouble, askedAt: null, own: true, watched: false });
  return seen;
};

interface Grouped {
  readonly groups: ReadonlyMap<Group, readonly string[]>;
  /** Runs whose lock cannot be read. */
  readonly broken: ReadonlyMap<string, string>;
}

function grouped(shop: Shop, heads: readonly RunHead[]): Grouped {
  const watcher = newWatcher();
  const groups = new Map<Group, string[]>();
  const broken = new Map<string, string>();
  for (const { id } of heads) {
    try {
      const group = groupFor(shop, watcher, id);
      groups.set(group, [...(groups.get(group) ?? []), id]);
    } catch (error) {
      broken.set(id, error instanceof Error ? error.message : String(error));
    }
  }
  return { groups, broken };
}

interface LauncherLook {
  readonly askedAt: string | null;
  readonly own: boolean;
  readonly watched: boolean;
  readonly runs: Readonly<Record<string, Seen>>;
}

async function lookAtLauncher(shop: Shop, group: Group, ask: Ask): Promise<LauncherLook> {
  if (!isShared(group)) {
    if (ask === "never") return { askedAt: null, own: false, watched: false, runs: {} };
    return { askedAt: isoTime(shop.clock), own: true, watched: false, runs: await asked(shop, group) };
  }
  const before = await readSharedLook(shop, group);
  const fresh = await isFresh(shop, group, before);
  if (ask === "never" || (ask === "due" && fresh)) return kept(shop, group, fresh ? before : undefined);
  const beganAt = shop.clock.now();
  let own: Readonly<Record<string, Seen>> | undefined;
  for (let tries = 0; tries < MOST_TRIES; tries++) {
    const outcome = await inTurn(shop, group, async () => {
      if (await isAnswered(shop, group, { ask, beganAt })) return;
      own = await asked(shop, group);
    });
    if (outcome === "done") break;
    await shop.clock.sleep(TRY_AGAIN, shop.signal);
  }
  const after = await kept(shop, group, await readSharedLook(shop, group));
  return own === undefined ? after : { ...after, own: true, runs: own };
}

// What another process asks just now is worth a moment, but not more: its answer is the next one's.
const MOST_TRIES = 20;
const TRY_AGAIN = 250;

// Another process may have asked while this one waited for its turn.
async function isAnswered(
  shop: Shop,
  group: Group,
  { ask, beganAt }: { readonly ask: Ask; readonly beganAt: number },
): Promise<boolean> {
  const look = await readSharedLook(shop, group);
  if (ask === "now") return look !== undefined && look.askedAt > beganAt;
  return isFresh(shop, group, look);
}

async function asked(shop: Shop, group: Group): Promise<Readonly<Record<string, Seen>>> {
  const { looks } = await watchPass(shop, newWatcher(), { group: group.name, purpose: "look", once: true });
  return Object.fromEntries(looks.map((look) => [look.id, seenOf(look)]));
}

const seenOf = ({ unavailable, warning, trouble }: RunLook): Seen => ({ unavailable, warning, trouble });

async function kept(shop: Shop, group: Group, look: SharedLook | undefined): Promise<LauncherLook> {
  return {
    askedAt: look === undefined ? null : new Date(look.askedAt).toISOString(),
    own: false,
    watched: await isWatching(shop, group, look),
    runs: look?.runs ?? {},
  };
}
