import { setImmediate as soon } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import type { Clock } from "../../src/core/clock.ts";
import { withLease } from "../../src/workflow/lease.ts";
import { begin, makeStage, RUN } from "./support.ts";

describe("withLease", () => {
  it("does not run out while the work goes on, however long", { timeout: 60_000 }, async () => {
    const stage = await makeStage();
    await begin(stage, await stage.shop());
    let now = Date.now();
    // Sleeping makes time pass, nothing else does.
    const clock: Clock = {
      now: () => now,
      sleep: async (milliseconds, signal) => {
        await soon();
        signal?.throwIfAborted();
        now += milliseconds;
      },
    };
    const shop = await stage.shop({ clock });
    const request = { owner: "other", milliseconds: 1000 };
    const later = now + 600_000;
    const isOver = (): boolean => now >= later;
    const held = await withLease(shop, RUN, async () => {
      while (!isOver()) {
        expect(shop.store.acquireLease(RUN, request).outcome).toBe("held");
        await soon();
      }
      return "worked";
    });
    expect(held).toEqual({ outcome: "done", result: "worked" });
    expect(shop.store.acquireLease(RUN, request).outcome).toBe("acquired");
  });
});
