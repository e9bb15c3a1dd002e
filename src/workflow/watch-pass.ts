import { messageOf } from "../core/errors.ts";
import type { Launcher, Observation } from "../launch/index.ts";
import { EVENTS_STREAM, type Attempt, type PayloadLine, type RunHead } from "../track/index.ts";
import { advanceRun } from "./advance.ts";
import { withLease } from "./lease.ts";
import type { Shop } from "./shop.ts";
import { readEvents, sightOf, type Purpose, type Sight } from "./watch-attempt.ts";
import { atMost } from "./watch-bounded.ts";
import {
  launcherOfGroup,
  observeGroup,
  schedule,
  type Group,
  type Watched,
  type Watcher,
} from "./watch-groups.ts";
import { liveState } from "./watch-live.ts";
import { notesOf } from "./watch-notes.ts";
import { gateOf } from "./watch-parent.ts";
import { peekEvents } from "./watch-peek.ts";

/** What one look at one run has brought. */
export interface RunLook {
  readonly id: string;
  readonly state: RunHead["state"];
  /** The state in words. */
  readonly reason: string;
  readonly changed: boolean;
  readonly lines: readonly PayloadLine[];
  readonly heldBy: string | null;
  /** Why its job could not be seen; its state is as it was. */
  readonly unavailable: string | null;
  /** What went wrong with this run alone. */
  readonly trouble: string | null;
}

/** Runs of one group that are worked on at once: a login node allows few sessions. */
const AT_ONCE = 8;

/** One look at all runs of a group: one question to its launcher, then what follows from the answers, run by run. */
export const lookAtGroup = async (
  shop: Shop,
  watcher: Watcher,
  group: Group,
  look: { readonly watched: readonly Watched[]; readonly purpose: Purpose },
): Promise<readonly RunLook[]> => {
  const { watched, purpose } = look;
  let opening: Promise<Launcher> | undefined;
  const open = async (): Promise<Launcher> => (opening ??= launcherOfGroup(shop, group));
  const seen = await observeGroup(open, watched);
  const unchanged: string[] = [];
  const looks = await atMost(AT_ONCE, watched, async (one): Promise<RunLook> => {
    shop.signal.throwIfAborted();
    try {
      const observation = one.refs.length === 0 ? undefined : sightOf(one.refs, seen);
      const found = await lookAtRun(shop, one, { purpose, observation, open });
      watcher.troubles.delete(one.head.id);
      if (found === SAME) unchanged.push(one.head.id);
      return found === SAME ? asBefore(one.head) : found;
    } catch (error) {
      shop.signal.throwIfAborted();
      const trouble = messageOf(error);
      await recordTrouble(shop, watcher, one.head.id, trouble);
      return { ...asBefore(one.head), trouble };
    }
  });
  if (purpose === "watch") shop.store.markAllSeen(unchanged);
  const blind = looks.filter(({ unavailable }) => unavailable !== null).length;
  const jobs = watched.filter(({ refs }) => refs.length > 0).length;
  schedule(group, shop.clock.now(), {
    unavailable: jobs > 0 && blind === jobs,
    changed: looks.some(({ changed }) => changed),
  });
  return looks;
};

/** The job was seen, and nothing is to be done or written but that. */
const SAME = Symbol("same");

async function lookAtRun(
  shop: Shop,
  { head, attempt, refs }: Watched,
  look: {
    readonly purpose: Purpose;
    readonly observation: Observation | undefined;
    readonly open: () => Promise<Launcher>;
  },
): Promise<RunLook | typeof SAME> {
  const { purpose, observation } = look;
  const [ref] = refs;
  if (attempt === undefined || ref === undefined || observation === undefined) {
    if (purpose === "look" || isResting(shop, head, attempt)) return asBefore(head);
    return advanced(shop, head, purpose);
  }
  // Nothing follows from an answer that is none: not even the run's lease is taken.
  if (observation.phase === "unavailable") return { ...asBefore(head), unavailable: observation.detail };
  const { marker } = attempt;
  if (!isSteady(shop, head, attempt, observation)) {
    return advanced(shop, head, purpose, { marker, observation });
  }
  if (observation.phase === "live" && observation.state === "queued") return SAME;
  const launcher = await look.open();
  const position = shop.store.cursor(head.id, EVENTS_STREAM);
  const { hasLines, read } = await peekEvents(readEvents(launcher, ref), position);
  return hasLines ? advanced(shop, head, purpose, { marker, observation, read }) : SAME;
}

/** Lives as it did before, and nobody wants anything of it. */
function isSteady(shop: Shop, head: RunHead, attempt: Attempt, observation: Observation): boolean {
  // The first look of a process counts the checkpoints too.
  if (head.kind === "train" && !shop.collected.has(head.id) && head.state !== "queued") return false;
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
  const { run, lines, heldBy, unavailable } = await advanceRun(shop, head.id, purpose, sight);
  const { id, state, reason } = run;
  const changed = state !== head.state || reason !== head.reason || lines.length > 0;
  return { id, state, reason, changed, lines, heldBy, unavailable, trouble: null };
}

function asBefore({ id, state, reason }: RunHead): RunLook {
  return { id, state, reason, changed: false, lines: [], heldBy: null, unavailable: null, trouble: null };
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
