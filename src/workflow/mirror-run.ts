import { isoTime } from "../core/clock.ts";
import { messageOf, UnderstudyError } from "../core/errors.ts";
import { digestOf } from "../core/hash.ts";
import {
  duePoints,
  ensureRun,
  MlflowError,
  POINT_EVENTS,
  sendParams,
  sendPoints,
  sendTags,
  whyRefused,
  type Mlflow,
  type MirrorChange,
  type MirrorRow,
  type Run,
} from "../track/index.ts";
import { withLease } from "./lease.ts";
import { birthTags, paramsOf, stateTags, statusOf } from "./mirror-facts.ts";
import type { Shop } from "./shop.ts";

export interface Copying extends Pick<Shop, "store" | "clock" | "owner" | "signal"> {
  readonly mlflow: Mlflow;
}

/**
 * Brings the copy of a run up to date. The row moves only after the server's own word; nothing is written by whoever has
 * lost the lease on it. `held` when another program is at it. Errors are kept with the row, and thrown.
 */
export const copyRun = async (world: Copying, runId: string): Promise<"done" | "held"> => {
  const { store, clock, owner, mlflow } = world;
  const { key, mask } = mlflow.target;
  const leases = store.mirrors.leases(key);
  const held = await withLease({ store: leases, clock, owner }, runId, async (lease) => {
    let row = store.mirrors.find(runId, key);
    if (row === undefined) return;
    const save = (change: MirrorChange): void => void (row = store.mirrors.save(lease, key, change));
    try {
      await copy(world, () => row ?? store.mirrors.save(lease, key, {}), save);
      if (row.trouble !== null) save({ trouble: null, troubleSince: null });
    } catch (error) {
      const trouble = mask(troubleText(error));
      if (!world.signal.aborted && !isLost(error) && trouble !== row.trouble) {
        save({ trouble, troubleSince: row.troubleSince ?? isoTime(clock) });
      }
      throw error;
    }
  });
  return held.outcome === "done" ? "done" : "held";
};

// Then another program copies it.
const isLost = (error: unknown): boolean => error instanceof UnderstudyError && error.code === "LEASE_LOST";

/** Why something is not copied, and what to do about it. */
export const troubleText = (error: unknown): string =>
  error instanceof UnderstudyError && error.hint !== undefined
    ? `${error.message} (${error.hint})`
    : messageOf(error);

async function copy(
  { store, clock, mlflow }: Copying,
  row: () => MirrorRow,
  save: (change: MirrorChange) => void,
): Promise<void> {
  const { runId, seen } = row();
  const run = store.getRun(runId);
  // What comes after this is for the next time.
  const events = store.events(runId, { after: Math.min(seen, row().settled) });
  const newest = Math.max(seen, events.at(-1)?.sequence ?? 0);
  const remoteId = await ensureRun(
    mlflow,
    { runId, startTime: Date.parse(run.createdAt), tags: birthTags(run) },
    { clock, remembered: row(), save },
  );
  try {
    await sendFacts(mlflow, remoteId, { params: paramsOf(run), row, save });
    const { points, settled } = duePoints(
      events.filter(({ type, sequence }) => POINT_EVENTS.includes(type) && sequence > row().settled),
      row().marks,
    );
    const refused = await unlessRefused(sendPoints(mlflow, remoteId, points, { ...row(), save }));
    const isNews = events.some(
      ({ type, sequence }) => sequence > seen && type !== "step" && type !== "progress",
    );
    if (isNews || seen === 0) await sendState({ store, mlflow }, remoteId, { run, row, save });
    if (refused !== undefined) throw refused;
    save({ seen: newest, ...(settled === null ? {} : { settled }) });
  } catch (error) {
    throw await whyRefused(mlflow, remoteId, error);
  }
}

// How the run ended is told even where its numbers are not taken.
async function unlessRefused(sent: Promise<void>): Promise<MlflowError | undefined> {
  try {
    await sent;
    return undefined;
  } catch (error) {
    if (error instanceof MlflowError && error.kind === "refused") return error;
    throw error;
  }
}

interface Told {
  readonly row: () => MirrorRow;
  readonly save: (change: MirrorChange) => void;
}

async function sendFacts(
  mlflow: Mlflow,
  remoteId: string,
  { params, row, save }: Told & { readonly params: ReturnType<typeof paramsOf> },
): Promise<void> {
  if (row().told.params !== undefined) return;
  const masked = params.map(({ key, value }) => ({ key, value: mlflow.target.mask(value) }));
  await sendParams(mlflow, remoteId, masked);
  save({ told: { ...row().told, params: digestOf(params) } });
}

async function sendState(
  { store, mlflow }: Pick<Copying, "store" | "mlflow">,
  remoteId: string,
  { run, row, save }: Told & { readonly run: Run },
): Promise<void> {
  const attempts = store.attempts(run.id);
  const tags = stateTags(store, run, attempts).map(({ key, value }) => ({
    key,
    value: mlflow.target.mask(value),
  }));
  const status = statusOf(run, attempts);
  const state = digestOf({ tags, status });
  if (row().told.state === state) return;
  await sendTags(mlflow, remoteId, tags);
  await mlflow.update(remoteId, status);
  save({ told: { ...row().told, state } });
}
