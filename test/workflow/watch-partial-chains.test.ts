import { describe, expect, it } from "vitest";
import { markerOf } from "../../src/launch/index.ts";
import type { RunState } from "../../src/track/index.ts";
import { advanceRun } from "../../src/workflow/advance.ts";
import { startRun, stopRun } from "../../src/workflow/runs.ts";
import type { Shop } from "../../src/workflow/shop.ts";
import { scriptedStage } from "./scripted.ts";
import { refOf } from "./scripted-launcher.ts";

const RUN = "20260131-101500-far-ab12";
const MARKER = markerOf(RUN, 1);

const look = async (shop: Shop): Promise<RunState> => (await advanceRun(shop, RUN)).run.state;

describe("a chain of which not all was accepted for certain", () => {
  const found = refOf(MARKER, `/far/runs/${RUN}/attempts/1`);

  it("stays open while the rest of it is, and what is known of it is not written down as all", async () => {
    const { far, shop: open, job } = await scriptedStage();
    const shop = open();
    far.submits.push({ outcome: "ambiguous", reason: "Socket timed out" });
    await startRun(shop, job(RUN));
    far.finds.set(MARKER, { outcome: "found", refs: [found], missingLinks: 1 });
    far.submits.push({ outcome: "ambiguous", reason: "Socket timed out again" });
    expect(await look(shop)).toBe("ambiguous");
    expect(shop.store.getRun(RUN).reason).toContain("Socket timed out again");
    expect(shop.store.attempts(RUN)[0]?.refs).toBeNull();
    const whole = {
      ...found,
      jobs: [
        { id: "17", link: 1 },
        { id: "18", link: 2 },
      ],
    };
    far.finds.set(MARKER, { outcome: "found", refs: [whole] });
    expect(await look(shop)).toBe("starting");
    expect(shop.store.attempts(RUN)[0]?.refs).toEqual([whole]);
  });

  it("stays open while there may be more of it than was found, unless it is to stop", async () => {
    const { far, shop: open, job } = await scriptedStage();
    const shop = open();
    far.submits.push({ outcome: "ambiguous", reason: "Socket timed out" });
    await startRun(shop, job(RUN));
    far.finds.set(MARKER, { outcome: "found", refs: [found], missingLinks: 1, doubt: "the accounts lag" });
    expect(await look(shop)).toBe("ambiguous");
    expect(far.asked.plans).toHaveLength(1);
    expect(shop.store.getRun(RUN).reason).toContain("the accounts lag");
    await stopRun(shop, RUN, "graceful");
    expect(shop.store.attempts(RUN)[0]?.refs).toEqual([found]);
    expect(await look(shop)).toBe("cancelling");
    expect(far.asked.cancelled).toEqual([MARKER]);
  });
});
