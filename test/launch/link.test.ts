import { execFileSync } from "node:child_process";
import { utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { WrapperResult } from "../../src/launch/index.ts";
import { chainOf, ended, linkPath } from "./link-support.ts";
import { temporaryFolder, until } from "./support.ts";

const available = (program: string): boolean => {
  try {
    execFileSync("/bin/sh", ["-c", `command -v ${program}`]);
    return true;
  } catch {
    return false;
  }
};

describe("link.sh", () => {
  it.skipIf(!available("dash"))("is clean for dash", () => {
    execFileSync("dash", ["-n", linkPath]);
  });

  it.skipIf(!available("shellcheck"))("is clean for shellcheck", () => {
    execFileSync("shellcheck", ["-s", "sh", linkPath]);
  });

  const SHELLS = [["dash"], ["bash", "--posix"], ["busybox", "sh"]].filter(([name = ""]) => available(name));
  it.each(SHELLS)("carries a run on under %s until it has succeeded", async (...shell) => {
    const chain = chainOf("us-x");
    chain.script(1, "checkpoint 4; exit 3");
    chain.script(2, "checkpoint 8; exit 3");
    chain.script(3, "checkpoint 10");
    const codes = [];
    for (const link of [1, 2, 3, 4]) codes.push((await chain.link(link, { shell })).code);
    expect(codes).toEqual([3, 3, 0, 0]);
    expect(chain.ran()).toEqual([1, 2, 3]);
    expect(chain.json("links/1-4.json")).toMatchObject({
      decision: "succeeded",
      attempt: null,
      progress: 10,
    });
  });

  it("gives the first attempt what was submitted, and each later one a token of its own", async () => {
    const chain = chainOf("us-x");
    chain.script(1, "checkpoint 1; exit 3");
    expect((await chain.link(1)).code).toBe(3);
    expect(chain.read("fence")).toBe("T\n");
    await chain.link(2);
    expect(chain.read("fence")).toBe("T.2\n");
    expect(chain.json("attempts/1/job.json")).toMatchObject({ attempt: { number: 1, token: "T" } });
    expect(chain.json("attempts/2/job.json")).toEqual({
      attempt: { number: 2, token: "T.2" },
      paths: { stop: "attempts/2/STOP" },
      text: "@ATTEMPT@ back\\slash \t%s $HOME",
    });
    expect(chain.json("attempts/2/supervisor.json")).toMatchObject({
      marker: "us-x-a2",
      token: "T.2",
      host: "n1",
    });
    expect(WrapperResult.parse(chain.json("attempts/2/result.json"))).toMatchObject({
      marker: "us-x-a2",
      exitCode: 0,
    });
    expect(chain.json("links/1-2.json")).toMatchObject({
      first: 1,
      link: 2,
      links: 9,
      job: "102",
      restart: 0,
      host: "n1",
      decision: "run",
      attempt: 2,
      progress: 1,
    });
  });

  it("a requeue is the same link and a new attempt", async () => {
    const chain = chainOf("us-x");
    chain.script(1, "checkpoint 2; kill -9 $$");
    expect((await chain.link(1)).code).toBe(137);
    chain.script(2, "checkpoint 10");
    expect((await chain.link(1, { restart: 1 })).code).toBe(0);
    expect(chain.ran()).toEqual([1, 2]);
    expect(chain.json("links/1-1.json")).toMatchObject({ attempt: 1, restart: 0 });
    expect(chain.json("links/1-1-2.json")).toMatchObject({ attempt: 2, restart: 1, job: "101" });
  });

  it("a second submission of a link is fenced and writes nothing", async () => {
    const chain = chainOf("us-x");
    chain.script(1, "checkpoint 2; exit 3");
    await chain.link(1);
    const before = chain.snapshot();
    const second = await chain.link(1, { job: 555 });
    expect(second.code).toBe(75);
    expect(second.said).toMatch(/^fenced: link 1 of us-x-a1 belongs to another job/);
    expect(chain.snapshot()).toEqual(before);
  });

  it("is fenced by a later submission, and writes nothing", async () => {
    const chain = chainOf("us-x");
    chain.script(1, "checkpoint 2; exit 3");
    await chain.link(1);
    chain.write("fence", "U\n");
    const before = chain.snapshot();
    expect((await chain.link(2)).code).toBe(75);
    expect(chain.snapshot()).toEqual(before);
    chain.script(2, "checkpoint 4; exit 3");
    expect((await chain.link(1, { first: 2, token: "U", job: 201 })).code).toBe(3);
    expect(chain.json("attempts/2/job.json")).toMatchObject({ attempt: { number: 2, token: "U" } });
    expect((await chain.link(3)).code).toBe(75);
    expect((await chain.link(2, { first: 2, token: "U", job: 202 })).code).toBe(0);
    expect(chain.read("fence")).toBe("U.3\n");
  });

  it("counts on when the number of its submission is taken already", async () => {
    const chain = chainOf("us-x");
    chain.script(1, "checkpoint 2; exit 3");
    chain.script(2, "checkpoint 3; exit 3");
    await chain.link(1);
    await chain.link(2);
    chain.write("fence", "U\n");
    await chain.link(1, { first: 2, token: "U", job: 201 });
    expect(chain.json("attempts/3/job.json")).toMatchObject({ attempt: { number: 3, token: "U.3" } });
  });

  it.each([1, 2, 4, 64, 75, 127, 134, 139, 255])("does not try again after exit code %i", async (code) => {
    const chain = chainOf("us-x");
    chain.script(1, `checkpoint 2; exit ${code}`);
    await chain.link(1);
    expect((await chain.link(2)).code).toBe(1);
    expect(chain.ran()).toEqual([1]);
    expect(chain.json("links/1-2.json")).toMatchObject({ decision: "failed", attempt: null });
    expect(String(chain.json("links/1-2.json")["reason"])).toContain(`exit code ${code}`);
  });

  it.each([3, 69, 129, 130, 137, 143])("tries again after exit code %i", async (code) => {
    const chain = chainOf("us-x");
    chain.script(1, `exit ${code}`);
    await chain.link(1);
    await chain.link(2);
    expect(chain.ran()).toEqual([1, 2]);
  });

  it("does not believe an exit 0 without the final checkpoint", async () => {
    const chain = chainOf("us-x");
    chain.script(1, "checkpoint 9");
    await chain.link(1);
    expect((await chain.link(2)).code).toBe(1);
    expect(chain.ran()).toEqual([1]);
    expect(chain.json("links/1-2.json")).toMatchObject({
      decision: "failed",
      reason: "attempt 1 ended with exit code 0, but the checkpoint of step 10 is not there",
    });
  });

  it("gives up after three attempts in a row that left nothing newer, and not before", async () => {
    const chain = chainOf("us-x");
    chain.script(1, "exit 3");
    chain.script(2, "checkpoint 1; exit 3");
    for (const attempt of [3, 4, 5, 6]) chain.script(attempt, "exit 3");
    for (const link of [1, 2, 3, 4, 5, 6]) await chain.link(link);
    expect(chain.ran()).toEqual([1, 2, 3, 4, 5]);
    expect(chain.json("links/1-6.json")).toMatchObject({ decision: "no-progress" });
    expect(String(chain.json("links/1-6.json")["reason"])).toContain("attempts 3 to 5");
  });

  it.each([
    ["checkpoint 3; ", [1, 2]],
    ["", [1]],
  ])("goes on after the time limit only with something newer: %j", async (save, ran) => {
    const chain = chainOf("us-x");
    chain.checkpoint(2);
    chain.script(1, `echo up; until [ -e "$folder/STOP" ]; do sleep 0.05; done; ${save}exit 3`);
    const first = chain.start(1);
    await until(async () => (chain.read("attempts/1/log.txt")?.includes("up") === true ? true : undefined));
    first.kill("SIGUSR1");
    expect((await ended(first)).code).toBe(3);
    expect(chain.read("attempts/1/STOP")).toBe("signal USR1\n");
    await chain.link(2);
    expect(chain.ran()).toEqual(ran);
  });

  it("stops when a person has asked for it, and heeds no stop from before its submission", async () => {
    const chain = chainOf("us-x");
    chain.script(1, "checkpoint 2; exit 3");
    await chain.link(1);
    chain.write("STOP", "cancel\n");
    expect((await chain.link(2)).code).toBe(3);
    expect(chain.ran()).toEqual([1]);
    expect(chain.json("links/1-2.json")).toMatchObject({ decision: "stopped" });
    utimesSync(join(chain.run, "STOP"), 1000, 1000);
    chain.write("fence", "U\n");
    expect((await chain.link(1, { first: 2, token: "U", job: 201 })).code).toBe(0);
    expect(chain.ran()).toEqual([1, 2]);
  });

  it("counts rows as progress where there are no checkpoints", async () => {
    const chain = chainOf("us-x");
    const rows = join(chain.run, "output/a b/answers.jsonl");
    const options = ["--steps", "0", "--rows", rows, "--rows", join(chain.run, "output/none.jsonl")];
    for (const n of [1, 2, 3, 4])
      chain.script(n, `mkdir -p "$run/output/a b"; echo '{}' >>"$run/output/a b/answers.jsonl"; exit 3`);
    for (const link of [1, 2, 3, 4]) await chain.link(link, { options });
    expect(chain.ran()).toEqual([1, 2, 3, 4]);
    expect(chain.json("links/1-4.json")).toMatchObject({ progress: 9 });
    await chain.link(5, { options });
    expect((await chain.link(6, { options })).code).toBe(0);
    expect(chain.json("links/1-6.json")).toMatchObject({ decision: "succeeded" });
  });

  it("leaves a bad node's name in the result, and the next link goes on elsewhere", async () => {
    const chain = chainOf("us-x");
    const broken = temporaryFolder().path;
    writeFileSync(
      join(broken, "nvidia-smi"),
      "#!/bin/sh\necho 'Unable to determine the device handle'; exit 15\n",
      { mode: 0o755 },
    );
    expect((await chain.link(1, { node: "gpu-7", path: broken, options: ["--gpus", "8"] })).code).toBe(69);
    expect(chain.json("attempts/1/result.json")).toMatchObject({ reason: "node-check", host: "gpu-7" });
    expect((await chain.link(2)).code).toBe(0);
    expect(chain.ran()).toEqual([2]);
  });

  it.each([
    [["--link", "one"]],
    [["--token", "a b"]],
    [["--run", "relative"]],
    [["--owner", "a/b"]],
    [["--unknown", "x"]],
  ])("refuses %j and writes nothing", async (options) => {
    const chain = chainOf("us-x");
    const { code, said } = await chain.link(1, { options });
    expect(code).toBe(64);
    expect(said).toContain("link.sh: ");
    expect(chain.read("links/1-1.json")).toBeUndefined();
  });
});
