import { describe, expect, it } from "vitest";
import { watchRuns } from "../../src/workflow/watch.ts";
import { controller, endOf, type Fatal } from "./controller.ts";
import { makeStage, record, type Stage } from "./support.ts";

const RUNS = ["20260131-101500-one-ab12", "20260131-101500-two-cd34", "20260131-101500-three-ef56"];

const planned = async (stage: Stage): Promise<void> => {
  const shop = await stage.shop();
  for (const id of RUNS) record(shop, stage.trainJob(id));
};

const FATALS: readonly Fatal[] = [
  { method: "acquireLease", when: "after", call: 2 },
  { method: "transition", to: "submitting", when: "after" },
  { method: "addAttempt", when: "before", call: 3 },
  { method: "addAttempt", when: "after", call: 2 },
  { method: "updateAttempt", when: "before", call: 2 },
  { method: "updateAttempt", when: "after", call: 1 },
  { method: "transition", to: "starting", when: "before", call: 3 },
  { method: "markAllSeen", when: "before" },
  { method: "ingest", when: "after", call: 2 },
  { method: "endAttempt", when: "before" },
  { method: "endAttempt", when: "after", call: 2 },
  { method: "transition", to: "succeeded", when: "before", call: 2 },
  { method: "releaseLease", when: "before", call: 4 },
];

const words = ({ method, when, to, call = 1 }: Fatal): string =>
  `${when} ${method}${to === undefined ? "" : ` to ${to}`}, call ${call}`;

describe("a watcher killed with kill -9", { timeout: 300_000 }, () => {
  it.each(FATALS.map((fatal) => [words(fatal), fatal] as const))(
    "%s: the next one adopts every run, and each job has run once",
    async (_, fatal) => {
      const stage = await makeStage();
      await planned(stage);
      const first = controller(stage, { runId: "", watches: true, fatal });
      expect(await endOf(first)).toBe("SIGKILL");
      const shop = await stage.shop();
      const { runs, troubles } = await watchRuns(shop, { runs: RUNS });
      expect([...troubles]).toEqual([]);
      expect(runs.map(({ state }) => state)).toEqual(RUNS.map(() => "succeeded"));
      expect([...stage.log("starts.log")].toSorted()).toEqual(RUNS.map((id) => `${id} 1`).toSorted());
      for (const id of RUNS) {
        expect(shop.store.attempts(id)).toMatchObject([{ number: 1, reason: "succeeded" }]);
        expect(shop.store.events(id, { types: ["step"] })).toHaveLength(4);
      }
    },
  );

  it("two at once and a third that is killed start each job once", async () => {
    const stage = await makeStage();
    await planned(stage);
    const fatal: Fatal = { method: "addAttempt", when: "after" };
    const doomed = controller(stage, { runId: "", watches: true, fatal });
    const both = [1, 2].map(() => controller(stage, { runId: "", watches: true }));
    await endOf(doomed);
    expect(await Promise.all(both.map(endOf))).toEqual([0, 0]);
    expect([...stage.log("starts.log")].toSorted()).toEqual(RUNS.map((id) => `${id} 1`).toSorted());
    const shop = await stage.shop();
    for (const id of RUNS) {
      expect(shop.store.getRun(id).state).toBe("succeeded");
      const kept = shop.store.events(id, { types: ["attempt.opened", "attempt.ended"] });
      expect(kept.map(({ type }) => type)).toEqual(["attempt.opened", "attempt.ended"]);
    }
  });
});
