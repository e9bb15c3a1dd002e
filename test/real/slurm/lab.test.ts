import { spawn } from "node:child_process";
import { chmodSync, existsSync, mkdtempSync, readdirSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, it } from "vitest";
import { systemClock } from "../../../src/core/clock.ts";
import { realSuite } from "../../support/real-suite.ts";
import { freePorts, LAB_PROGRAMS, startLab, type SlurmLab } from "./lab.ts";
import { removeFolder } from "../../support/remove-folder.ts";

realSuite("the Slurm lab", { programs: LAB_PROGRAMS, root: true }, () => {
  const place = mkdtempSync(join(tmpdir(), "us-labs-"));
  chmodSync(place, 0o755);
  afterAll(() => removeFolder(place));

  it("runs jobs of an ordinary user with accounting, beside another lab without, and leaves nothing", async () => {
    const [full, bare] = await Promise.all([startLab(), startLab({ accounting: "none" })]);
    const command = ["--parsable", "-D", "/tmp", "-o", "/dev/null", "--gres=gpu:h100:8", "--wrap=sleep 300"];
    const first = full.run(["sbatch", "-A", "ml", ...command], "user").trim();
    const second = bare.run(["sbatch", ...command], "user").trim();
    expect(await queueWith(full, "RUNNING")).toBe(`${first} RUNNING\n`);
    expect(await queueWith(bare, "RUNNING")).toBe(`${second} RUNNING\n`);
    expect(full.run(["sacctmgr", "-n", "-P", "show", "cluster", "format=cluster"])).toBe("lab\n");
    await full.stop("slurmctld");
    await full.start("slurmctld");
    expect(await queueWith(full, "RUNNING")).toBe(`${first} RUNNING\n`);
    const folders = [full.folder, bare.folder];
    await Promise.all([full.close(), bare.close()]);
    expect(folders.filter((folder) => existsSync(folder))).toEqual([]);
    expect(folders.flatMap(processesOf)).toEqual([]);
  }, 120_000);

  it("ends with the process that held it, even when that is killed", async () => {
    const ports = await freePorts(5);
    const holder = spawn(
      process.execPath,
      [
        "-e",
        `const { spawn } = require("node:child_process");
         spawn("bash", process.argv.slice(1, 3), {
           env: { PATH: process.env.PATH, LAB_PORTS: process.argv[3], LAB_ACCOUNTING: "none" },
           stdio: ["pipe", "inherit", "inherit"], detached: true });`,
        join(import.meta.dirname, "lab.sh"),
        place,
        ports.join(" "),
      ],
      { stdio: ["ignore", "pipe", "pipe"] },
    );
    try {
      await new Promise((resolve) => holder.stdout.once("data", resolve));
      expect(processesOf(place).length).toBeGreaterThan(4);
    } finally {
      holder.kill("SIGKILL");
    }
    for (let tries = 0; tries < 1500 && processesOf(place).length > 0; tries++) await systemClock.sleep(20);
    expect(processesOf(place)).toEqual([]);
  }, 120_000);
});

/** The queue as soon as a job in it is in that state, or what it says after half a minute. */
async function queueWith(lab: SlurmLab, state: string): Promise<string> {
  let said = "";
  for (let tries = 0; tries < 300 && !said.includes(state); tries++) {
    try {
      said = lab.run(["squeue", "-h", "-o", "%i %T"]);
    } catch (error) {
      // A controller that has just been started does not answer yet.
      said = String(error);
    }
    if (!said.includes(state)) await systemClock.sleep(100);
  }
  return said;
}

/** Programs with the folder in their arguments or their environment. */
function processesOf(folder: string): string[] {
  const speaks = (pid: string, part: string): boolean => {
    try {
      return readFileSync(`/proc/${pid}/${part}`, "latin1").includes(folder);
    } catch {
      return false;
    }
  };
  return readdirSync("/proc").filter(
    (name) => /^\d+$/.test(name) && ["cmdline", "environ"].some((part) => speaks(name, part)),
  );
}
