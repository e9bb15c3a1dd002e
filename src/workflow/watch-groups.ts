import { z } from "zod";
import { messageOf } from "../core/errors.ts";
import {
  jobKey,
  type JobRef,
  type Launcher,
  type LauncherProfile,
  type Observation,
} from "../launch/index.ts";
import type { Attempt, RunHead } from "../track/index.ts";
import { jobOf } from "./run-lock.ts";
import type { Shop } from "./shop.ts";
import { refsOf } from "./submit.ts";
import { nextWait, paceOf, waitUnavailable, type Pace } from "./watch-pace.ts";
import { placesFor, type Places, type Work } from "./watch-work.ts";

/** The runs of one launcher profile, which are looked at together. */
export interface Group {
  readonly name: string;
  /** One of its runs: any one's launcher can look at all. */
  readonly representative: string;
  readonly pace: Pace;
  /** For people, e.g. `my-slurm (slurm)`. */
  readonly label: string;
  wait: number;
  /** Milliseconds since the epoch: not looked at before. */
  nextAt: number;
  /** Questions in a row that got no answer. */
  failures: number;
  /** For runs that have jobs, and for those that are to be sent, which may take hours: a login node allows few sessions. */
  readonly places: { readonly looks: Places; readonly sends: Places };
}

const LOOKS_AT_ONCE = 6;
const SENDS_AT_ONCE = 2;

/** What a watcher keeps in memory; a new one begins with nothing and finds everything in the store. */
export interface Watcher extends Work {
  readonly groups: Map<string, Group>;
  /** Name of the group of each run: its profile never changes. */
  readonly groupOf: Map<string, string>;
  /** What is wrong with a run, so that each trouble is recorded once. */
  readonly troubles: Map<string, string>;
  /** Answers that are being kept for other processes, by group name. */
  readonly keeping: Map<string, Promise<void>>;
}

export const newWatcher = (): Watcher => ({
  groups: new Map(),
  groupOf: new Map(),
  troubles: new Map(),
  keeping: new Map(),
  working: new Map(),
  news: [],
  failures: [],
});

const Label = z.object({ profileName: z.string() });

/** The group of a run, made when it is the first of its profile. */
export const groupFor = (shop: Shop, watcher: Watcher, id: string): Group => {
  const known = watcher.groups.get(watcher.groupOf.get(id) ?? "");
  if (known) return known;
  const run = shop.store.getRun(id);
  const job = jobOf(run);
  const name = shop.launchers.nameOf(job);
  watcher.groupOf.set(id, name);
  const present = watcher.groups.get(name);
  if (present) return present;
  const pace = paceOf(job.profile);
  const label = `${Label.safeParse(run.lock).data?.profileName ?? name} (${kindOf(job.profile)})`;
  const made: Group = {
    name,
    representative: id,
    pace,
    label,
    wait: pace.fastest,
    nextAt: 0,
    failures: 0,
    places: { looks: placesFor(LOOKS_AT_ONCE), sends: placesFor(SENDS_AT_ONCE) },
  };
  watcher.groups.set(name, made);
  return made;
};

const kindOf = ({ kind }: LauncherProfile): string => kind;

/** A run with its open attempt, if it has one. */
export interface Watched {
  readonly head: RunHead;
  readonly attempt: Attempt | undefined;
  readonly refs: readonly JobRef[];
}

/** Any launcher of a group; all its runs can be looked at with it. */
export const launcherOfGroup = async (shop: Shop, group: Group): Promise<Launcher> =>
  shop.launchers.of(jobOf(shop.store.getRun(group.representative)));

/** What is seen of all jobs of a group, in one question. Whatever goes wrong with it, they are `unavailable`. */
export const observeGroup = async (
  open: () => Promise<Launcher>,
  watched: readonly Watched[],
): Promise<ReadonlyMap<string, Observation>> => {
  const refs = watched.flatMap((one) => one.refs);
  if (refs.length === 0) return new Map();
  try {
    return await (await open()).observe(refs);
  } catch (error) {
    const observation: Observation = { phase: "unavailable", detail: messageOf(error) };
    return new Map(refs.map((ref) => [jobKey(ref), observation]));
  }
};

export const watchedOf = (head: RunHead, attempt: Attempt | undefined): Watched => ({
  head,
  attempt,
  refs: attempt === undefined ? [] : refsOf(attempt),
});

/** Something has changed after the group was looked at: it is looked at again at once. */
export const hurry = (group: Group, now: number): void => {
  group.wait = group.pace.fastest;
  group.nextAt = Math.min(group.nextAt, now);
};

/** Decides when a group is looked at next, from what this look has brought. */
export const schedule = (
  group: Group,
  now: number,
  look: { readonly unavailable: boolean; readonly changed: boolean },
): void => {
  group.failures = look.unavailable ? group.failures + 1 : 0;
  group.wait = nextWait(group.pace, group.wait, look.changed);
  group.nextAt =
    now + (group.failures > 0 ? waitUnavailable(group.pace, group.failures, group.name) : group.wait);
};
