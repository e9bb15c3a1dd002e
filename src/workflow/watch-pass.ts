import { messageOf } from "../core/errors.ts";
import type { Launcher, Observation } from "../launch/index.ts";
import { EVENTS_STREAM, type Attempt, type RunHead } from "../track/index.ts";
import { advanceRun } from "./advance.ts";
import { hasten } from "./hasten.ts";
import { withLease } from "./lease.ts";
import { keepSharedLook, toldOf } from "./shared-look.ts";
import type { Shop } from "./shop.ts";
import { readEvents, sightOf, type Purpose, type Sight } from "./watch-attempt.ts";
import {
  hurry,
  launcherOfGroup,
  observeGroup,
  schedule,
  type Group,
  type Watched,
  type Watcher,
} from "./watch-groups.ts";
import { liveState, warningOf } from "./watch-live.ts";
import { asBefore, type RunLook } from "./watch-look.ts";
import { notesOf } from "./watch-notes.ts";
import { gateOf } from "./watch-parent.ts";
import { peekEvents } from "./watch-peek.ts";
import { patiently, track } from "./watch-work.ts";

/**
 * A look at the runs of one group. `once`: until all of it is done, else what takes long goes on behind it. `whole`: at all
 * that have not ended, so that the answer serves other processes too.
 */
export interface GroupLook {
  readonly watched: readonly Watched[];
  readonly purpose: Purpose;
  readonly once: boolean;
  readonly whole: boolean;
}

// What a question has brought says little after that: the next one is for it.
const FRESH = 30_000;

/**
 * One look at all runs of a group: one question to its launcher, then what follows from the answers, run by run. What it
 * brings comes to the watcher's news.
 */
export const lookAtGroup = async (
  shop: Shop,
  watcher: Watcher,
  group: Group,
  { watched, purpose, once, whole }: GroupLook,
): Promise<void> => {
  let opening: Promise<Launcher> | undefined;
  const open = async (): Promise<Launcher> => (opening ??= launcherOfGroup(shop, group));
  const beganAt = shop.clock.now();
  const seen = await observeGroup(open, watched);
  const askedAt = shop.clock.now();
  const sights = watched.map(({ refs }) => (refs.length === 0 ? undefined : sightOf(refs, seen)));
  const keep = async (troubles: ReadonlyMap<string, string> = new Map()): Promise<void> => {
    if (!whole) return;
    const runs = toldOf(watched, sights, troubles);
    const answer = { schemaVersion: 1, askedAt: beganAt, owner: shop.owner, runs } as const;
    // Who looks only once does not go on watching.
    await keepSharedLook(shop, group, { ...answer, purpose: once ? "look" : purpose });
  };
  // No run waits for it: it serves other processes.
  const kept = keep();
  watcher.keeping.set(group.name, kept);
  const unchanged: string[] = [];
  let isOver = false;
  let changed = false;
  const troubles = new Map<string, string>();
  const take = (found: RunLook): void => {
    watcher.news.push(found);
    if (found.trouble !== null) troubles.set(found.id, found.trouble);
    changed ||= found.changed;
    if (found.changed && isOver) hurry(group, shop.clock.now());
  };
  const same = (id: string): void => {
    if (isOver) shop.store.markAllSeen([id]);
    else unchanged.push(id);
  };
  const works = watched.map(async (one, at) => {
    const observation = sights[at];
    const places = observation === undefined ? group.places.sends : group.places.looks;
    const work = async (): Promise<void> => {
      shop.signal.throwIfAborted();
      if (!once && observation !== undefined && shop.clock.now() - askedAt > FRESH) return;
      const found = await lookOrTrouble(shop, watcher, one, { purpose, once, observation, open });
      if (found === SAME) same(one.head.id);
      take(found === SAME ? asBefore(one.head, { warning: warningOf(observation) }) : found);
    };
    return track(watcher, one.head.id, async () => places(work));
  });
  await (once ? Promise.all(works) : patiently(shop, works));
  isOver = true;
  shop.store.markAllSeen(unchanged);
  const asked = sights.filter((sight) => sight !== undefined);
  schedule(group, shop.clock.now(), {
    unavailable: asked.length > 0 && asked.every(({ phase }) => phase === "unavailable"),
    changed,
  });
  const all = troubles.size === 0 ? kept : kept.then(async () => keep(troubles));
  watcher.keeping.set(group.name, all);
  if (once) await all;
};

/** The job was seen, and nothing is to be done or written but that. */
const SAME = Symbol("same");

interface RunSight {
  readonly purpose: Purpose;
  readonly once: boolean;
  readonly observation: Observation | undefined;
  readonly open: () => Promise<Launcher>;
}

// What goes wrong with one run is no trouble of the others.
async function lookOrTrouble(
  shop: Shop,
  watcher: Watcher,
  one: Watched,
  sight: RunSight,
): Promise<RunLook | typeof SAME> {
  const { head } = one;
  try {
    const found = await lookAtRun(shop, one, sight);
    watcher.troubles.delete(head.id);
    return found;
  } catch (error) {
    shop.signal.throwIfAborted();
    const trouble = messageOf(error);
    await recordTrouble(shop, watcher, head.id, trouble);
    return asBefore(head, { trouble });
  }
}

async function lookAtRun(
  shop: Shop,
  { head, attempt, refs }: Watched,
  look: RunSight,
): Promise<RunLook | typeof SAME> {
  const { purpose, observation } = look;
  const [ref] = refs;
  if (attempt === undefined || ref === undefined || observation === undefined) {
    return purpose === "look" ? asBefore(head) : lookAtUnsent(shop, head, { attempt, once: look.once });
  }
  // Nothing follows from an answer that is none: not even the run's lease is taken.
  if (observation.phase === "unavailable") return asBefore(head, { unavailable: observation.detail });
  const { marker } = attempt;
  if (!isSteady(shop, { head, attempt, observation, purpose })) {
    return advanced(shop, head, purpose, { marker, observation });
  }
  if (observation.phase === "live" && observation.state === "queued") return SAME;
  const launcher = await look.open();
  const position = shop.store.cursor(head.id, EVENTS_STREAM);
  const { hasLines, read } = await peekEvents(readEvents(launcher, ref), position);
  return hasLines ? advanced(shop, head, purpose, { marker, observation, read }) : SAME;
}

async function lookAtUnsent(
  shop: Shop,
  head: RunHead,
  { attempt, once }: { readonly attempt: Attempt | undefined; readonly once: boolean },
): Promise<RunLook> {
  // Who looks only once is not there when the next try would come.
  const isHurried = once && (await hasten(shop, head));
  return !isHurried && isResting(shop, head, attempt) ? asBefore(head) : advanced(shop, head, "watch");
}

const isUncounted = (shop: Shop, { id, kind, state }: RunHead): boolean =>
  kind === "train" && !shop.collected.has(id) && state !== "queued";

/** Lives as it did before, and nobody wants anything of it. */
function isSteady(
  shop: Shop,
  {
    head,
    attempt,
    observation,
    purpose,
  }: {
    readonly head: RunHead;
    readonly attempt: Attempt;
    readonly observation: Observation;
    readonly purpose: Purpose;
  },
): boolean {
  // The first look of who watches counts the checkpoints too.
  if (purpose === "watch" && isUncounted(shop, head)) return false;
  if (observation.phase !== "live" || head.stopRequested) return false;
  if (Object.keys(notesOf(attempt)).length > 0) return false;
  const started = head.state === "running";
  if (!started && head.state !== "queued" && head.state !== "starting") return false;
  const change = liveState({ observation, attempt: attempt.number, started });
  return change === null || (change.to === head.state && change.reason === head.reason);
}

/** Waits for a time or for another run, and neither has come. */
function isResting(shop: Shop, head: RunHead, attempt: Attempt | undefined): boolean {
  if (head.stopRequested) return false;
  const gate = gateOf(shop, head);
  if (gate.gate === "closed") return head.state === "blocked";
  if (head.state !== "waiting") return false;
  if (gate.gate === "waits") return head.reason === gate.reason;
  const refused = attempt && notesOf(attempt).refused;
  return refused !== undefined && !refused.sentAgain && shop.clock.now() < refused.nextAt;
}

async function advanced(shop: Shop, head: RunHead, purpose: Purpose, sight?: Sight): Promise<RunLook> {
  const advance = await advanceRun(shop, head.id, purpose, sight);
  const { run, lines, heldBy } = advance;
  const unavailable = advance.unavailable ?? advance.unanswered;
  const { id, state, reason } = run;
  const changed = state !== head.state || reason !== head.reason || lines.length > 0;
  const warning = warningOf(sight?.observation);
  return { id, state, reason, changed, lines, heldBy, unavailable, warning, trouble: null };
}

// Kept with the run, so that who looks later sees it too; that it cannot be recorded is no trouble of the others either.
async function recordTrouble(shop: Shop, watcher: Watcher, id: string, trouble: string): Promise<void> {
  if (watcher.troubles.get(id) === trouble) return;
  watcher.troubles.set(id, trouble);
  try {
    await withLease(shop, id, async (lease) => {
      shop.store.appendEvent(lease, { type: "run.trouble", data: { message: trouble } });
    });
  } catch {
    watcher.troubles.delete(id);
  }
}
