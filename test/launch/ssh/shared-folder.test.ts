import { existsSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { attemptOf, fileOf, logHolds, temporaryFolder, until } from "../support.ts";
import { localBench, machine } from "./support.ts";

describe("hosts that share the folder of a run", () => {
  const folder = temporaryFolder();
  afterAll(() => folder.remove());

  it("leave the secrets of a job alone that another of them is about to start", async () => {
    const [gate, begun] = [join(folder.path, "gate"), join(folder.path, "begun")];
    const bench = await localBench(folder.path, {
      machines: ["one", "two"].map((name) => machine(folder.path, name, [])),
      settings: { setup: [`touch '${begun}'`, `while [ ! -e '${gate}' ]; do sleep 0.1; done`] },
      environment: { ...process.env, TEST_SECRET: "wanted-by-the-job" },
    });
    const job = bench.job([["environment"]], { secrets: ["TEST_SECRET"] });
    const plan = bench.launcher.plan(job, attemptOf(job));
    const submission = bench.launcher.submit(plan);
    await until(async () => existsSync(begun) || undefined);
    // The reply is not there yet: whoever settles it asks both hosts, of which one knows nothing.
    expect(await bench.launcher.find(plan)).toMatchObject({ outcome: "found", refs: [{ host: "one" }] });
    expect(readdirSync(plan.cwd)).toContain("secrets");
    writeFileSync(gate, "");
    const answer = await submission;
    const ref = answer.outcome === "accepted" ? answer.refs[0] : undefined;
    if (ref === undefined) throw new Error(JSON.stringify(answer));
    await logHolds(ref, "}");
    expect(await fileOf(ref, "log")).toContain("wanted-by-the-job");
    expect(readdirSync(plan.cwd).filter((name) => name.startsWith("secrets"))).toEqual([]);
  }, 60_000);
});
