import { describe, expect, it } from "vitest";
import { markerOf, type Continuation, type JobKind } from "../../src/launch/index.ts";
import type { RunState } from "../../src/track/index.ts";
import { advanceRun } from "../../src/workflow/advance.ts";
import { startRun } from "../../src/workflow/runs.ts";
import type { Shop } from "../../src/workflow/shop.ts";
import { ended, result, say, scriptedStage, type ScriptedStage } from "./scripted.ts";
import { refOf } from "./scripted-launcher.ts";

const RUN = "20260131-101500-infer-ab12";

const look = async (shop: Shop): Promise<RunState> => (await advanceRun(shop, RUN)).run.state;
const reasons = (shop: Shop): (string | null)[] => shop.store.attempts(RUN).map(({ reason }) => reason);

const next = (number: number): { readonly continues: Continuation } => ({
  continues: {
    refs: [refOf(markerOf(RUN, number), `/far/runs/${RUN}/attempts/${number}`)],
    token: `T.${number}`,
  },
});

const begun = async (stage: ScriptedStage, kind: JobKind): Promise<Shop> => {
  const shop = stage.shop();
  const request = stage.job(RUN, { proof: { kind: "tasks", tasks: [] } });
  await startRun(shop, { ...request, job: { ...request.job, kind } });
  return shop;
};

const done = (stage: ScriptedStage, attempt: number, count: number, system = "base"): void =>
  say(stage.far, RUN, {
    attempt,
    type: "progress",
    done: count,
    total: 40,
    unit: "x",
    system,
    suite: "seen",
  });

describe("progress of a job without checkpoints", () => {
  it.each(["infer", "score", "measure"] as const)(
    "is a task of %s that got further than ever before",
    async (kind) => {
      const stage = await scriptedStage();
      const shop = await begun(stage, kind);
      done(stage, 1, 10);
      done(stage, 1, 20);
      const reached = ended("walltime", result(markerOf(RUN, 1), { exitCode: 3 }), next(2));
      stage.far.sights.set(markerOf(RUN, 1), reached);
      expect(await look(shop)).toBe("recovering");
      // Another task that begins is progress too.
      done(stage, 2, 20);
      done(stage, 2, 5, "last");
      stage.far.sights.set(markerOf(RUN, 2), ended("walltime", null, next(3)));
      expect(await look(shop)).toBe("recovering");
      done(stage, 3, 20);
      done(stage, 3, 4, "last");
      stage.far.sights.set(markerOf(RUN, 3), ended("walltime", null));
      // Events of what it saved last may still arrive.
      expect(await look(shop)).toBe("recovering");
      expect(reasons(shop)).toEqual(["walltime", "walltime", null]);
      stage.clock.forward(61_000);
      expect(await look(shop)).toBe("timed_out");
      expect(reasons(shop)).toEqual(["walltime", "walltime", "walltime_no_progress"]);
      expect(stage.far.asked.cancelled).toEqual([]);
    },
  );

  it("counts when its events come later than the end of its job", async () => {
    const stage = await scriptedStage();
    const shop = await begun(stage, "infer");
    stage.far.sights.set(markerOf(RUN, 1), ended("walltime", result(markerOf(RUN, 1), { exitCode: 3 })));
    expect(await look(shop)).not.toBe("timed_out");
    done(stage, 1, 20);
    expect(await look(shop)).toBe("recovering");
    expect(reasons(shop)).toEqual(["walltime"]);
  });

  it("does not end what the far side goes on with, though no event tells of progress", async () => {
    const stage = await scriptedStage();
    const shop = await begun(stage, "infer");
    stage.far.sights.set(markerOf(RUN, 1), ended("walltime", null, next(2)));
    expect(await look(shop)).toBe("recovering");
    expect(await look(shop)).toBe("starting");
    expect(stage.far.asked.cancelled).toEqual([]);
    stage.far.sights.set(markerOf(RUN, 2), ended("completed", result(markerOf(RUN, 2))));
    expect(await look(shop)).toBe("succeeded");
    expect(reasons(shop)).toEqual(["walltime_no_progress", "succeeded"]);
  });

  it("is missed when the far side does not begin what was to follow: it is timed out, not sent again", async () => {
    const stage = await scriptedStage();
    const shop = await begun(stage, "infer");
    stage.far.sights.set(markerOf(RUN, 1), ended("walltime", null, next(2)));
    expect(await look(shop)).toBe("recovering");
    stage.far.sights.set(markerOf(RUN, 2), ended("not_started", null));
    expect(await look(shop)).toBe("timed_out");
    expect(stage.far.asked.plans).toHaveLength(1);
  });
});
