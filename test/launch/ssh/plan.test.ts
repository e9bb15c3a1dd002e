import { afterAll, describe, expect, it } from "vitest";
import { planText, type JobInput, type Plan } from "../../../src/launch/index.ts";
import { sshLauncher } from "../../../src/launch/ssh/launcher.ts";
import { attemptOf, temporaryFolder } from "../support.ts";
import { farPayload, jobMaker, profileOf, worldOf } from "./support.ts";

describe("the plan of a job over SSH", () => {
  const folder = temporaryFolder();
  afterAll(() => folder.remove());
  const payload = farPayload(folder.path);

  const planOf = async (
    settings: Record<string, unknown>,
    inputs: readonly JobInput[] = [],
  ): Promise<{ plan: Plan; runFolder: string }> => {
    const profile = profileOf("/scratch/us", {
      hosts: [{ host: "gpu1", port: 2222 }, { host: "gpu2" }],
      ...settings,
    });
    const environment = {
      PATH: "/here/bin",
      HOME: "/here",
      HF_TOKEN: "hf-of-the-person",
      TEST_SECRET: "a-secret",
    };
    const launcher = await sshLauncher(profile, worldOf(payload, environment));
    const revision = "Qwen/Qwen2.5-Omni-7B@ae9e1690543ffd5c0221dc27f79834d0294cba00";
    const job = jobMaker(
      "/scratch/us",
      "/scratch/us/env/payload",
      profile,
    )([], {
      inputs,
      secrets: ["TEST_SECRET"],
      manifest: {
        schemaVersion: 1,
        kind: "score",
        run: "x",
        model: { path: "/scratch/us/models/q", revision },
      },
    });
    return { plan: launcher.plan(job, attemptOf(job)), runFolder: job.runFolder };
  };
  const input = (role: JobInput["role"], source: string | null): JobInput => ({
    role,
    source,
    path: `/scratch/us/${role}`,
    bytes: 1,
    sha256: "00",
  });

  it("starts the wrapper through the program that locks GPUs, and says nothing of this machine", async () => {
    const { plan, runFolder } = await planOf({ processes: 8, device: "cuda" });
    const attempt = `${runFolder}/attempts/1`;
    const { marker, token } = plan.attempt;
    expect(plan.argv).toEqual([
      "/bin/sh",
      `${attempt}/host-run.sh`,
      attempt,
      `${marker}.${token}`,
      "1024",
      "0",
      "--",
      "/bin/sh",
      `${attempt}/start.sh`,
    ]);
    expect(plan.files.map(({ path }) => path)).toEqual([
      `${attempt}/job.json`,
      `${attempt}/wrapper.sh`,
      `${attempt}/host-run.sh`,
      `${attempt}/start.sh`,
      `${runFolder}/fence`,
    ]);
    // Scoring runs one process; training would take all eight.
    expect(plan.request).toEqual({ device: "cuda", gpus: 1, hosts: ["gpu1:2222", "gpu2"] });
    const text = planText(plan) + JSON.stringify(plan);
    for (const ours of ["/here", "hf-of-the-person", "a-secret"]) expect(text).not.toContain(ours);
    expect(text).toContain("TEST_SECRET");
  });

  it("keeps what may hold a token to its owner: setup lines and the environment", async () => {
    const { plan } = await planOf({ setup: ["export INDEX_TOKEN=of-the-site"] });
    const holders = plan.files.filter(({ text }) => /of-the-site|^export [A-Z_]+=/m.test(text));
    expect(holders.map(({ path, mode }) => [path.split("/").at(-1), mode.toString(8)])).toEqual([
      ["start.sh", "600"],
    ]);
  });

  it("sends what is not there by other means", async () => {
    const inputs = [input("payload", "/here/code"), input("model", null), input("data", null)];
    const roles = async (stage: Record<string, string>): Promise<readonly string[]> =>
      (await planOf({ stage, ...(stage["model"] === "image" ? image : {}) }, inputs)).plan.uploads.map(
        ({ role }) => role,
      );
    const image = { container: { engine: "apptainer", image: "/images/us.sif" } };
    expect(await roles({ model: "existing", data: "existing" })).toEqual(["payload", "model", "data"]);
    expect(await roles({ model: "node-download", data: "existing" })).toEqual(["payload", "data"]);
    expect(await roles({ model: "image", data: "existing" })).toEqual(["payload", "data"]);
  });
});
