import { TERMINAL_STATES } from "../track/index.ts";
import { advanceRun } from "./advance.ts";
import type { Shop } from "./shop.ts";
import { launcherOf, refsOf } from "./submit.ts";

export interface LogsRequest {
  readonly runId: string;
  readonly follow: boolean;
}

const POLL = 500;

/**
 * The log lines of all attempts of a run, in order, each once. With `follow` it also looks after the run (new attempts are
 * opened by rule) and ends when the run has ended.
 */
export async function* runLogs(shop: Shop, { runId, follow }: LogsRequest): AsyncIterable<string> {
  const launcher = await launcherOf(shop, shop.store.getRun(runId));
  const offsets = new Map<number, number>();
  for (;;) {
    const ended = TERMINAL_STATES.includes(shop.store.getRun(runId).state);
    for (const attempt of shop.store.attempts(runId)) {
      const [ref] = refsOf(attempt);
      if (ref === undefined) continue;
      const cursor = { offset: offsets.get(attempt.number) ?? 0 };
      for await (const chunk of launcher.logs(ref, cursor, { follow: false, signal: shop.signal })) {
        yield* chunk.lines;
        offsets.set(attempt.number, chunk.cursor.offset);
      }
    }
    if (!follow || ended) return;
    await advanceRun(shop, runId);
    await shop.clock.sleep(POLL, shop.signal);
  }
}
