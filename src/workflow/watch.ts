import { TERMINAL_STATES, type Run, type RunHead } from "../track/index.ts";
import type { Shop } from "./shop.ts";
import type { Purpose } from "./watch-attempt.ts";
import { groupFor, newWatcher, watchedOf, type Group, type Watched, type Watcher } from "./watch-groups.ts";
import { gateOf } from "./watch-parent.ts";
import { asBefore, type RunLook } from "./watch-look.ts";
import { lookAtGroup } from "./watch-pass.ts";
import { whileWatching } from "./watch-sign.ts";
import { patiently, sleepUnless, track } from "./watch-work.ts";

export interface WatchRequest {
  /** Only these. Default: every run that has not ended, those that begin later too. */
  readonly runs?: readonly string[];
  /** Only those of the launcher with this name. */
  readonly group?: string;
  /** Default `watch`. */
  readonly purpose?: Purpose;
  /** One look at everything, whatever is due. */
  readonly once?: boolean;
  /** Goes on when no run is left, for those that begin later. */
  readonly stay?: boolean;
  /** After each pass that looked at something. */
  readonly onPass?: (pass: WatchPass) => void;
}

/** What one pass over all launchers has brought. */
export interface WatchPass {
  readonly looks: readonly RunLook[];
  /** Runs that have not ended. */
  readonly live: number;
  /** Launchers that gave no answer, with the time of the next question (milliseconds since the epoch). */
  readonly silent: readonly { readonly label: string; readonly nextAt: number }[];
  /** Milliseconds until the next look. */
  readonly wait: number;
}

/** What has become of the runs that were watched. */
export interface WatchEnd {
  readonly runs: readonly Run[];
  /** What went wrong with single runs, by id, when they were looked at last. */
  readonly troubles: ReadonlyMap<string, string>;
  /** Runs whose jobs could not be seen then, and why. */
  readonly unseen: ReadonlyMap<string, string>;
}

// New runs, and requests of other programs, are found in the store; that costs nothing on the far side.
const STORE_TICK = 5000;

/**
 * The reconciler: looks at any number of runs on any launchers, asks each launcher once for all of its runs, and does what
 * follows for each run under that run's lease. Several may work on one project; one that is killed loses nothing. Ends
 * when no run is left; rejects with the signal's reason when aborted, and all runs go on.
 */
export const watchRuns = async (shop: Shop, request: WatchRequest = {}): Promise<WatchEnd> => {
  const work = async (): Promise<WatchEnd> => watchUntilDone(shop, request);
  const goesOn = request.once !== true && request.purpose !== "look";
  return goesOn ? whileWatching(shop, request.runs ?? null, work) : work();
};

async function watchUntilDone(shop: Shop, request: WatchRequest): Promise<WatchEnd> {
  const watcher = newWatcher();
  const ever = new Set<string>(request.runs?.map((id) => shop.store.getRun(id).id));
  const told = new Map([...ever].map((id) => [id, wordsOf(shop.store.getRun(id))]));
  const troubles = new Map<string, string>();
  const unseen = new Map<string, string>();
  try {
    for (;;) {
      shop.signal.throwIfAborted();
      const pass = await watchPass(shop, watcher, request);
      for (const look of pass.looks) {
        const { id, trouble, unavailable } = look;
        ever.add(id);
        told.set(id, wordsOf(look));
        keep(troubles, id, trouble);
        keep(unseen, id, unavailable);
      }
      const looks = [...pass.looks, ...endedElsewhere(shop, ever, told)];
      if (looks.length > 0) request.onPass?.({ ...pass, looks });
      if (request.once || (pass.live === 0 && !request.stay)) break;
      await sleepUnless(shop, pass.wait, [...watcher.working.values()]);
    }
  } finally {
    // Nothing of it writes once the store is closed; what heeds the signal is done soon.
    await Promise.all([...watcher.working.values(), ...watcher.keeping.values()]);
  }
  return { runs: [...ever].map((id) => shop.store.getRun(id)), troubles, unseen };
}

const wordsOf = ({ state, reason }: Pick<Run, "state" | "reason">): string => `${state}: ${reason}`;

// Another command may record an end first: then no look comes to it.
function endedElsewhere(shop: Shop, ever: ReadonlySet<string>, told: Map<string, string>): RunLook[] {
  const live = new Set(shop.store.watchedRuns().map(({ id }) => id));
  return [...ever].flatMap((id) => {
    if (live.has(id)) return [];
    const run = shop.store.getRun(id);
    if (told.get(id) === wordsOf(run)) return [];
    told.set(id, wordsOf(run));
    return [{ ...asBefore(run), changed: true }];
  });
}

function keep(words: Map<string, string>, id: string, text: string | null): void {
  if (text === null) words.delete(id);
  else words.set(id, text);
}

/**
 * One pass over the launchers that are due. It waits for what is quick: an upload, or a launcher that does not answer, goes
 * on behind it, and a later pass tells what has become of it. `once` waits for all.
 */
export const watchPass = async (
  shop: Shop,
  watcher: Watcher,
  { runs, group: only, purpose = "watch", once = false }: WatchRequest,
): Promise<WatchPass> => {
  if (purpose === "watch") shop.mirror?.nudge();
  const heads = shop.store.watchedRuns().filter((head) => isWatched(shop, head, runs));
  const broken: RunLook[] = [];
  const due = dueGroups(shop, watcher, heads, { once, broken, only });
  const whole = runs === undefined;
  const works = [...due].map(async ([group, watched]) =>
    track(watcher, group.name, async () =>
      lookAtGroup(shop, watcher, group, { watched, purpose, once, whole }),
    ),
  );
  await (once ? Promise.all(works) : patiently(shop, works));
  const [failure] = watcher.failures;
  if (watcher.failures.length > 0) throw failure;
  const order = new Map(heads.map(({ id }, at) => [id, at]));
  const news = watcher.news.splice(0).toSorted((a, b) => (order.get(a.id) ?? -1) - (order.get(b.id) ?? -1));
  const looks = [...news, ...(due.size === 0 ? [] : broken)];
  const ended = new Set(looks.filter(({ state }) => TERMINAL_STATES.includes(state)).map(({ id }) => id));
  return {
    looks,
    live: heads.filter(({ id }) => !ended.has(id)).length,
    silent: [...watcher.groups.values()]
      .filter(({ failures }) => failures > 0)
      .map(({ label, nextAt }) => ({ label, nextAt })),
    wait: waitOf(watcher, heads, shop.clock.now()),
  };
};

/** The groups whose time has come, with those of their runs that nobody works on already. */
function dueGroups(
  shop: Shop,
  watcher: Watcher,
  heads: readonly RunHead[],
  {
    once,
    broken,
    only,
  }: { readonly once: boolean; readonly broken: RunLook[]; readonly only: string | undefined },
): ReadonlyMap<Group, readonly Watched[]> {
  const now = shop.clock.now();
  const due = new Map<Group, Watched[]>();
  const open = new Map(shop.store.openAttempts().map((attempt) => [attempt.runId, attempt]));
  for (const head of heads) {
    const group = placed(shop, watcher, head, broken);
    if (group === undefined || (!once && group.nextAt > now)) continue;
    if (only !== undefined && group.name !== only) continue;
    if (watcher.working.has(group.name) || watcher.working.has(head.id)) continue;
    const together = due.get(group) ?? [];
    together.push(watchedOf(head, open.get(head.id)));
    due.set(group, together);
  }
  return due;
}

function isWatched(shop: Shop, head: RunHead, runs: readonly string[] | undefined): boolean {
  if (runs !== undefined && !runs.includes(head.id)) return false;
  return head.state !== "blocked" || head.stopRequested || gateOf(shop, head).gate !== "closed";
}

// A run whose lock cannot be read must not keep the others waiting.
function placed(shop: Shop, watcher: Watcher, head: RunHead, broken: RunLook[]): Group | undefined {
  try {
    return groupFor(shop, watcher, head.id);
  } catch (error) {
    const trouble = error instanceof Error ? error.message : String(error);
    broken.push(asBefore(head, { trouble }));
    return undefined;
  }
}

function waitOf(watcher: Watcher, heads: readonly RunHead[], now: number): number {
  // What is at work wakes the watcher when it is done.
  const idle = heads.filter(({ id }) => !watcher.working.has(id));
  const names = new Set(idle.map(({ id }) => watcher.groupOf.get(id)));
  const times = [...watcher.groups.values()]
    .filter(({ name }) => names.has(name) && !watcher.working.has(name))
    .map(({ nextAt }) => nextAt);
  return Math.max(50, Math.min(STORE_TICK, ...times.map((time) => time - now)));
}
