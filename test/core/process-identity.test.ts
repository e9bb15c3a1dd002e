import { spawn } from "node:child_process";
import { describe, expect, it } from "vitest";
import { isOwnerGone, processOwner } from "../../src/core/process-owner.ts";
import { isRunning, parseStat, processStatus } from "../../src/core/process-identity.ts";
import { until } from "../launch/support.ts";

describe("process identities", () => {
  it("tell a process from its successor under the same pid, and a zombie from a running one", async () => {
    const child = spawn("sleep", ["60"]);
    const status = await processStatus(child.pid ?? 0);
    if (status === undefined) throw new Error("no such process");
    expect(await isRunning(status)).toBe(true);
    expect(await isRunning({ ...status, startTime: "1" })).toBe(false);
    child.kill("SIGKILL");
    await until(async () => ((await isRunning(status)) ? undefined : true));
  });

  it("are read from odd command names", () => {
    const rest = "S 10 42 42 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 1 0 987654 1 2 3";
    for (const name of ["(sh)", "(a b)", "(a) b)", "())", "(((("]) {
      expect(parseStat(7, `7 ${name.startsWith("(((") ? "((((x)" : name} ${rest}`)).toEqual({
        pid: 7,
        startTime: "987654",
        pgid: 42,
        zombie: false,
      });
    }
    expect(parseStat(7, `7 (x) ${rest.replace("S", "Z")}`)?.zombie).toBe(true);
    for (const text of ["", "7", "7 (x)", "7 (x) S 1"]) expect(parseStat(7, text)).toBeUndefined();
  });
});

describe("owners of leases", () => {
  it("are gone when their process is, and never by guesswork", async () => {
    const owner = await processOwner();
    expect(await isOwnerGone(owner)).toBe(false);
    const [host, boot, pid, start, namespace] = owner.split("|");
    expect(namespace).toMatch(process.platform === "linux" ? /^\d+$/ : /^$/);
    expect(await isOwnerGone([host, boot, pid, "1"].join("|"))).toBe(true);
    expect(await isOwnerGone([host, "earlier", pid, start].join("|"))).toBe(true);
    expect(await isOwnerGone(["elsewhere", boot, pid, "1"].join("|"))).toBe(false);
    // In another namespace that number means another process; after a restart of the machine nothing of before is left.
    expect(await isOwnerGone([host, boot, pid, "1", "7"].join("|"))).toBe(false);
    expect(await isOwnerGone([host, "earlier", pid, "1", "7"].join("|"))).toBe(true);
    expect(await isOwnerGone([host, boot, pid, "1", namespace].join("|"))).toBe(true);
    for (const odd of ["", "x", "|||", "||||", `${host}|${boot}|x|1`, `${host}|${boot}|-1|1`])
      expect(await isOwnerGone(odd)).toBe(false);
  });
});
