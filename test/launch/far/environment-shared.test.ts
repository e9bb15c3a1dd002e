import { execFileSync } from "node:child_process";
import { mkdirSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { realSuite } from "../../support/real-suite.ts";
import { place, python } from "./environment-support.ts";
import { temporaryFolder } from "./support.ts";

realSuite("the environment in a shared folder", { programs: ["getent", "chgrp"], root: true }, () => {
  it("belongs to the group, can be read by it, and hands it on", async () => {
    const made = place({ python });
    await made.prepare({ umask: "0027", group: "users" });
    const gid = Number(execFileSync("getent", ["group", "users"], { encoding: "utf8" }).split(":")[2]);
    for (const path of ["", "bin", "_COMPLETE.json", "lib", "bin/demo-tool", "pyvenv.cfg"]) {
      const { gid: group, mode } = statSync(join(made.folder, path));
      expect([path, group, mode & 0o027]).toEqual([path, gid, 0]);
      expect([path, mode & 0o040]).toEqual([path, 0o040]);
    }
    expect(statSync(join(made.folder, "..")).mode & 0o2000).toBe(0o2000);
  }, 180_000);

  it("tells that a group does not exist, and is made all the same", async () => {
    const made = place();
    await made.prepare({ group: "no-such-group" });
    expect(made.lines).toContain(
      `note: ${join(made.folder, "..")} could not be given to the group no-such-group`,
    );
    expect(made.run("demo-tool")).toBe("demo runs\n");
  }, 180_000);
});

realSuite("the environment on a small disk", { programs: ["mount", "umount"], root: true }, () => {
  it("says that the disk is full, leaves room behind, and is made when there is more", async () => {
    const at = temporaryFolder().path;
    const disk = join(at, "disk");
    mkdirSync(disk);
    execFileSync("mount", ["-t", "tmpfs", "-o", "size=4m", "tmpfs", disk]);
    try {
      const made = place({ folder: join(disk, "envs", "abc") });
      await expect(made.prepare()).rejects.toMatchObject({
        code: "DISK_FULL",
        message: expect.stringContaining("is full"),
      });
      expect(readdirSync(join(disk, "envs"))).toEqual(["abc.lock"]);
      execFileSync("mount", ["-o", "remount,size=200m", disk]);
      await made.prepare();
      expect(made.run("demo-tool")).toBe("demo runs\n");
    } finally {
      execFileSync("umount", ["-l", disk]);
    }
  }, 180_000);
});
