import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { runUnderstudy as program } from "../../src/cli/index.ts";
import { systemClock } from "../../src/core/clock.ts";
import { withShop } from "../../src/workflow/index.ts";
import { doctorMlflow } from "../../src/workflow/mirror-state.ts";
import { look } from "../real/mlflow/look.ts";
import { mlflowSuite, startMlflow, type MlflowServer } from "../real/mlflow/server.ts";
import { temporaryProject } from "../support/temporary-project.ts";
import { checkpoint, mirrorStage, steps } from "./mirror-support.ts";

const world = { fetch, clock: systemClock };

/** A command line whose network is the real one. */
const understudy = async (
  cwd: string,
  environment: Readonly<Record<string, string>>,
  words: readonly string[],
): Promise<string> => {
  const written: string[] = [];
  const sink = { write: (text: string) => void written.push(text), isTerminal: false, width: 200 };
  const signal = new AbortController().signal;
  await program(words, { cwd, environment, stdout: sink, stderr: sink, clock: systemClock, fetch, signal });
  return written.join("");
};

await mlflowSuite("what people see of MLflow", "now", (python) => {
  let server: MlflowServer;
  beforeAll(async () => void (server = await startMlflow(python)));
  afterAll(async () => server.close());

  it("is the page of a run in `run show`, what `run watch` brings to its end, and the server in `doctor`", async () => {
    const stage = await mirrorStage(server.url, "people");
    const { root } = stage.stage.project;
    mkdirSync(join(root, "launchers/payload"), { recursive: true });
    const environment = {
      MLFLOW_TRACKING_URI: server.url,
      MLFLOW_EXPERIMENT_NAME: "people",
      PATH: "/usr/bin:/bin",
    };
    await stage.start("r");
    stage.say("r", ...steps(1, 1, 3), checkpoint(1, 3));
    stage.endAttempt("r", "crashed", false);
    stage.become("r", "failed");
    expect(await understudy(root, environment, ["run", "show", "r"])).toContain(
      `${server.url} (not sent yet)`,
    );
    await understudy(root, environment, ["run", "watch"]);
    const [run] = await look(server.url).runs("people");
    expect(run?.status).toBe("FAILED");
    const shown = await understudy(root, environment, ["run", "show", "r"]);
    expect(shown).toContain(`${server.url}/#/experiments/1/runs/${run?.id} (up to date)`);
    expect(await understudy(root, environment, ["doctor"])).toContain(
      `${server.url} answers (MLflow 3.17.2); experiment "people" is there`,
    );
  });

  it("is an experiment that is deleted, in `doctor`", async () => {
    const { call } = look(server.url);
    await call("experiments/create", { name: "gone" });
    await call("experiments/delete", { experiment_id: await look(server.url).experiment("gone") });
    const project = await temporaryProject();
    const environment = { MLFLOW_TRACKING_URI: server.url, MLFLOW_EXPERIMENT_NAME: "gone" };
    const check = await doctorMlflow(project, environment, world);
    expect(check).toMatchObject({ outcome: "failed", hint: expect.stringContaining("experiments restore") });
  });
});

describe("without a server", () => {
  it("nothing is said or done unless one is named", async () => {
    const project = await temporaryProject();
    expect(await doctorMlflow(project, {}, world)).toBeNull();
    const signal = new AbortController().signal;
    await withShop({ project, clock: systemClock, environment: {}, signal, fetch }, async ({ mirror }) => {
      expect(mirror).toBeUndefined();
    });
  });

  it("a setting that cannot be used is told once, in words, and stops nothing", async () => {
    const project = await temporaryProject();
    const said: string[] = [];
    const environment = { MLFLOW_TRACKING_URI: "http://me:pa55word@lab" };
    const signal = new AbortController().signal;
    const onProgress = (progress: object): void => void said.push(JSON.stringify(progress));
    await withShop({ project, clock: systemClock, environment, signal, fetch, onProgress }, async (shop) => {
      shop.mirror?.nudge();
      shop.mirror?.follow({ id: "x", kind: "train" });
    });
    expect(said).toHaveLength(1);
    expect(said[0]).toContain("holds a user name or password");
    expect(said[0]).not.toContain("pa55word");
    const check = await doctorMlflow(project, environment, world);
    expect(check).toMatchObject({ outcome: "failed" });
  });
});
