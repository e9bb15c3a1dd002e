import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it, vi } from "vitest";
import { look, type SeenRun } from "../real/mlflow/look.ts";
import { startProxy, type How, type MlflowProxy } from "../real/mlflow/proxy.ts";
import { mlflowSuite, startMlflow, type MlflowServer } from "../real/mlflow/server.ts";
import { mirrorState } from "../../src/workflow/index.ts";
import { checkpoint, mirrorStage, range, resumed, steps, type MirrorStage } from "./mirror-support.ts";

await mlflowSuite("an MLflow server that misbehaves", "now", (python) => {
  let server: MlflowServer;
  let proxy: MlflowProxy;
  beforeAll(async () => {
    server = await startMlflow(python);
    proxy = await startProxy(server.url);
  });
  afterAll(async () => {
    await proxy.close();
    await server.close();
  });
  let number = 0;
  const fresh = async (
    secrets: Readonly<Record<string, string>> = {},
  ): Promise<MirrorStage & { experiment: string }> => {
    proxy.heal();
    const experiment = `faults-${++number}`;
    const stage = await mirrorStage(proxy.url, experiment, secrets);
    return { experiment, ...stage };
  };
  /** A run that trains, with three final points and one that is only live. */
  const running = async (stage: MirrorStage): Promise<void> => {
    await stage.start("r");
    stage.become("r", "running");
    stage.say("r", ...steps(1, 1, 3), checkpoint(1, 3), ...steps(1, 4, 4));
  };
  const runsOf = async (experiment: string): Promise<readonly SeenRun[]> => look(server.url).runs(experiment);
  const stepsOf = async (experiment: string): Promise<number[]> => {
    const [run] = await runsOf(experiment);
    return (await look(server.url).history(run?.id ?? "", "train/loss")).map(([step]) => step);
  };
  /** Whatever was wrong is over; the copy is brought to its end, by one program after another. */
  const healed = async ({ shop, key, copy }: MirrorStage): Promise<void> => {
    proxy.heal();
    await vi.waitFor(
      async () => {
        await copy();
        expect(shop.store.mirrors.behind(key)).toEqual([]);
      },
      { timeout: 30_000 },
    );
  };

  const FAULTS: readonly (readonly [string, How])[] = [
    ["cut before it is done", "drop-before"],
    ["cut after it is done", "drop-after"],
    ["answered with 429", { status: 429, headers: { "retry-after": "0" } }],
    ["answered with 500", { status: 500, body: "<html>no</html>" }],
    ["answered by a login page", { status: 200, body: "<html>log in</html>" }],
  ];
  const CALLS = [
    "experiments/get-by-name",
    "experiments/create",
    "runs/search",
    "runs/create",
    "runs/log-batch",
    "runs/update",
  ];
  it.each(FAULTS.flatMap(([what, how]) => CALLS.map((path) => ({ what, how, path }))))(
    "has one run with each step once when $path is $what",
    async ({ how, path }) => {
      const stage = await fresh();
      await running(stage);
      proxy.fail({ path, how });
      await stage.copy();
      // Not so long that tests wait for it: nothing is on its way here any more.
      const row = stage.shop.store.mirrors.find("r", stage.key);
      if (row?.remoteId === null && row.askedAt !== null) expect(path).toBe("runs/create");
      await stage.copy({ clock: later });
      await healed(stage);
      expect(await runsOf(stage.experiment)).toHaveLength(1);
      expect(await stepsOf(stage.experiment)).toEqual([1, 2, 3]);
    },
  );

  it("is asked for another run only a minute after a creation that it may still work on", async () => {
    const stage = await fresh();
    await running(stage);
    proxy.fail({ path: "runs/create", how: "drop-before" });
    await stage.copy();
    await stage.copy();
    expect(
      proxy.seen.filter(({ path, text }) => path.includes("runs/create") && text.includes(`"r"`)),
    ).not.toEqual([]);
    expect(await runsOf(stage.experiment)).toEqual([]);
    expect(mirrorState(stage.shop.store, "r")?.words).toContain("looked for again");
    await stage.copy({ clock: later });
    expect(await runsOf(stage.experiment)).toHaveLength(1);
  });

  it("that hangs keeps neither the run nor the end of a program waiting", async () => {
    const stage = await fresh();
    await running(stage);
    proxy.fail({ path: "", how: "hang", times: 1000 });
    const mirror = await stage.mirror();
    mirror.nudge();
    // Whoever acts on the run gets it at once.
    stage.say("r", ...steps(1, 5, 5));
    stage.become("r", "cancelling");
    await mirror.close();
    expect(stage.shop.store.mirrors.behind(stage.key)).toEqual(["r"]);
    await healed(stage);
    expect(await stepsOf(stage.experiment)).toEqual([1, 2, 3]);
  });

  it("gets each step once from two programs at once", async () => {
    const stage = await fresh();
    await stage.start("r");
    stage.become("r", "running");
    const mirrors = await Promise.all([stage.mirror(), stage.mirror(), stage.mirror()]);
    for (let step = 1; step <= 40; step += 4) {
      stage.say("r", ...steps(1, step, step + 3), checkpoint(1, step + 3));
      for (const mirror of mirrors) mirror.nudge();
    }
    await Promise.all(mirrors.map(async (mirror) => mirror.close()));
    await healed(stage);
    expect(await runsOf(stage.experiment)).toHaveLength(1);
    expect(await stepsOf(stage.experiment)).toEqual(range(1, 40));
    const batches = proxy.seen.filter(
      ({ path, text }) => path.includes("log-batch") && text.includes('"train/loss"'),
    );
    const sent = batches.flatMap(({ text }) =>
      [...text.matchAll(/"train\/loss","step":(\d+)/g)].map(([, at]) => at),
    );
    const here = sent.slice(-40);
    expect(new Set(here).size).toBe(40);
  });

  it("whose experiment or run was deleted is told of in words, and written to again when it is restored", async () => {
    const stage = await fresh();
    await running(stage);
    await stage.copy();
    const [run] = await runsOf(stage.experiment);
    const { call, experiment } = look(server.url);
    const id = await experiment(stage.experiment);
    await call("runs/delete", { run_id: run?.id });
    stage.say("r", ...steps(1, 5, 6), checkpoint(1, 6));
    await stage.copy();
    expect(stage.said.at(-1)).toMatch(/is deleted on the MLflow server.*not made anew.*runs restore/);
    await call("runs/restore", { run_id: run?.id });
    await call("experiments/delete", { experiment_id: id });
    await stage.start("s");
    await stage.copy();
    expect(stage.said.join("\n")).toMatch(/experiment "faults-\d+" is deleted.*experiments restore/);
    await call("experiments/restore", { experiment_id: id });
    await healed(stage);
    expect(await runsOf(stage.experiment)).toHaveLength(2);
  });

  it("that refuses numbers is told all the same how the run ended", async () => {
    const stage = await fresh();
    await running(stage);
    await stage.copy();
    stage.say("r", resumed(2, 3), ...steps(2, 4, 9), checkpoint(2, 9));
    stage.endAttempt("r", "crashed", false);
    stage.become("r", "failed");
    const body = JSON.stringify({ error_code: "INVALID_PARAMETER_VALUE", message: "no such metric" });
    // Tags are sent by the same call: only the first one carries numbers.
    proxy.fail({ path: "log-batch", how: { status: 400, body } });
    await stage.copy();
    expect((await runsOf(stage.experiment))[0]?.status).toBe("FAILED");
    expect(mirrorState(stage.shop.store, "r")?.words).toContain("no such metric");
    await healed(stage);
    expect(await stepsOf(stage.experiment)).toEqual(range(1, 9));
  });

  it("gets credentials in a header and nowhere else; none is stored or said, even where it repeats them", async () => {
    const secrets = { MLFLOW_TRACKING_TOKEN: "tr4cking-t0ken", HF_TOKEN: "hf_pl4nted" };
    const stage = await fresh(secrets);
    await stage.start("r");
    stage.become("r", "running");
    stage.say("r", ...steps(1, 1, 2), checkpoint(1, 2));
    const body = JSON.stringify({
      error_code: "INTERNAL_ERROR",
      message: "who is tr4cking-t0ken or hf_pl4nted?",
    });
    proxy.fail({ path: "runs/search", how: { status: 500, body }, times: 3 });
    proxy.fail({ path: "get-by-name", how: { status: 403, body: "tr4cking-t0ken" } });
    const seenBefore = proxy.seen.length;
    await stage.copy();
    await stage.copy();
    await healed(stage);
    stage.endAttempt("r", "crashed", false);
    stage.become("r", "lost");
    await stage.copy();
    const calls = proxy.seen.slice(seenBefore);
    expect(calls.every(({ text }) => text.includes("Bearer tr4cking-t0ken"))).toBe(true);
    const bodies = calls.map(({ text, path }) => path + text.slice(text.indexOf("\n")));
    const files = filesBelow(stage.stage.project.root);
    for (const text of [...bodies, ...stage.said, ...files, readFileSync(server.data, "latin1")]) {
      expect(text).not.toContain("tr4cking-t0ken");
      expect(text).not.toContain("hf_pl4nted");
    }
    expect(stage.said.join("\n")).toContain("[HF_TOKEN]");
  });

  it("that sends callers elsewhere gets no credential there", async () => {
    const stage = await fresh({ MLFLOW_TRACKING_TOKEN: "tr4cking-t0ken" });
    await running(stage);
    const headers = { location: "http://127.0.0.1:1/login?next=secret" };
    proxy.fail({ path: "get-by-name", how: { status: 302, headers } });
    await stage.copy();
    expect(stage.said.join("\n")).toContain("name that address as tracking URI: http://127.0.0.1:1/login");
    expect(stage.said.join("\n")).not.toContain("secret");
  });
});

/** The same time, two minutes on. */
const later = {
  now: () => Date.now() + 120_000,
  sleep: async (milliseconds: number, signal?: AbortSignal) => {
    const { systemClock } = await import("../../src/core/clock.ts");
    await systemClock.sleep(milliseconds, signal);
  },
};

function filesBelow(root: string): string[] {
  return readdirSync(root, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => readFileSync(join(entry.parentPath, entry.name), "latin1"));
}
