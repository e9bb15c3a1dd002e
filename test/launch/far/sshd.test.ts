import { execFileSync } from "node:child_process";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { checkFar, prepareEnvironment, secretFile } from "../../../src/launch/far/index.ts";
import { openTransport, type Transport } from "../../../src/launch/transport/index.ts";
import { FAR_USER } from "../../real/sshd/sshd.ts";
import { realSuite } from "../../support/real-suite.ts";
import { sshBench, world as sshWorld, type SshBench } from "../transport/ssh-bench.ts";
import { house } from "./environment-support.ts";
import { farJob, sshProfile, world } from "./support.ts";

const PYTHON = "/usr/bin/python3";

realSuite("a far machine behind sshd", { programs: ["sshd", "ssh", "python3"], root: true }, () => {
  let bench: SshBench;
  let t: Transport;
  let far = "";

  beforeAll(async () => {
    bench = await sshBench("ssh2");
    t = await openTransport(bench.endpoint, bench.access, sshWorld);
    far = join(bench.folder, "far");
    mkdirSync(far);
    chmodSync(far, 0o777);
  });
  afterAll(async () => {
    await t?.close();
    await bench?.remove();
  });

  it("makes the environment once although every connection is cut while it is made", async () => {
    const wheels = join(far, "wheels");
    mkdirSync(wheels);
    execFileSync("cp", ["-r", `${house}/.`, wheels]);
    execFileSync("chmod", ["-R", "a+rX", wheels]);
    const locks = ["requirements-torch.lock", "requirements.lock"].map((name) => join(far, name));
    writeFileSync(locks[0] ?? "", "torch==2.13.0\n");
    writeFileSync(locks[1] ?? "", "demo-tool==1.2\n");
    const folder = join(far, "env", "abc");
    const lines: string[] = [];
    let cuts = 0;
    const environment = { folder, python: PYTHON, locks, wheelhouse: wheels, device: "cpu" } as const;
    await prepareEnvironment(t, environment, {
      umask: "0022",
      signal: new AbortController().signal,
      world,
      onLine: (line) => {
        lines.push(line);
        if (cuts >= 2 || !/^(making a Python|installing torch)/.test(line)) return;
        cuts += 1;
        bench.sshd.killConnections();
      },
    });
    expect(cuts).toBeGreaterThan(0);
    expect(lines.filter((line) => line.startsWith("making a Python"))).toHaveLength(1);
    expect(execFileSync(join(folder, "bin", "demo-tool"), { encoding: "utf8" })).toBe("demo runs\n");
    expect(readdirSync(join(far, "env"))).toEqual(["abc"]);
    expect(statSync(folder).uid).toBe(Number(execFileSync("id", ["-u", FAR_USER], { encoding: "utf8" })));
  }, 180_000);

  it("keeps a secret in a private folder of the far user, and in no argument", async () => {
    const folder = join(far, "run", "secrets");
    const value = "s3cret 'with' $quotes\nand lines";
    await secretFile(t, folder, { HUB: value, OTHER_1: "x" });
    expect(statSync(folder).mode & 0o777).toBe(0o700);
    expect(readFileSync(join(folder, "HUB"), "utf8")).toBe(value);
    expect(statSync(join(folder, "HUB")).mode & 0o777).toBe(0o600);
    expect(readdirSync(folder).toSorted()).toEqual(["HUB", "OTHER_1"]);
  });

  it("puts no secret where somebody else could read it", async () => {
    const theirs = join(far, "theirs");
    mkdirSync(theirs, { mode: 0o777 });
    chmodSync(theirs, 0o777);
    await expect(secretFile(t, theirs, { HUB: "x" })).rejects.toMatchObject({ code: "FAR_COMMAND_FAILED" });
    const link = join(far, "link");
    symlinkSync(theirs, link);
    await expect(secretFile(t, link, { HUB: "x" })).rejects.toMatchObject({ code: "FAR_COMMAND_FAILED" });
    await expect(secretFile(t, join(far, "new"), { "A;B": "x" })).rejects.toMatchObject({
      code: "VARIABLE_NAME",
    });
    expect(readdirSync(theirs)).toEqual([]);
    expect(existsSync(join(far, "new"))).toBe(false);
  });

  it("is looked at as the far user: what they cannot write is told", async () => {
    const locked = join(far, "locked");
    mkdirSync(locked, { mode: 0o755 });
    const paths = {
      data: `${far}/data`,
      models: `${far}/models`,
      env: `${far}/env`,
      runs: `${locked}/runs`,
      tmp: "/tmp",
    };
    const profile = sshProfile({ paths, device: "cpu", python: PYTHON, group: "no-such-group" });
    const checks = await checkFar(t, farJob({ profile }), profile, world);
    const failed = checks.filter(({ outcome }) => outcome === "failed");
    expect(failed).toMatchObject([
      { name: "folders", detail: `${locked} cannot be written, and ${locked}/runs is not there` },
    ]);
    expect(checks.find(({ name }) => name === "group")).toMatchObject({
      outcome: "warning",
      detail: `${FAR_USER} is not in the group no-such-group: what is made there cannot be given to it`,
    });
  });
});
