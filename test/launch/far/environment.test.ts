import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { hostname } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { leftBeside, ownerOf, place, python, quickPython } from "./environment-support.ts";
import { here, temporaryFolder, world } from "./support.ts";

describe("the environment on a far machine", { timeout: 180_000 }, () => {
  it("is made of the wheelhouse once, appears whole at its own path, and is found again", async () => {
    const made = place({ python });
    await made.prepare();
    expect(made.run("python", "-c", "import demo_tool, torch; demo_tool.main()")).toBe("demo runs\n");
    // Scripts name the interpreter of the final folder, not of the one it was built in.
    expect(made.run("demo-tool")).toBe("demo runs\n");
    expect(readFileSync(join(made.folder, "pyvenv.cfg"), "utf8")).not.toContain(".build-");
    const complete: unknown = JSON.parse(readFileSync(join(made.folder, "_COMPLETE.json"), "utf8"));
    expect(complete).toMatchObject({
      schemaVersion: 1,
      device: "cpu",
      torch: { version: "2.13.0+cpu", cuda: null },
    });
    expect(leftBeside(made.folder)).toEqual([]);
    expect(made.lines).toContain("installing torch for the CPU");
    expect(made.lines.filter((line) => line.startsWith("making a Python"))).toHaveLength(1);
    const before = statSync(join(made.folder, "_COMPLETE.json")).mtimeMs;
    await made.prepare();
    expect(statSync(join(made.folder, "_COMPLETE.json")).mtimeMs).toBe(before);
  });

  it("is built by one of two who ask at once, and both get it", async () => {
    const at = temporaryFolder().path;
    const [one, two] = [place({}, at), place({}, at)];
    await Promise.all([one.prepare(), two.prepare()]);
    expect(one.run("demo-tool")).toBe("demo runs\n");
    expect(readFileSync(join(at, "made"), "utf8")).toBe("made\n");
  });

  it("survives the loss of whoever started it", async () => {
    const made = place();
    const stop = new AbortController();
    const gone = made.prepare({
      signal: stop.signal,
      onLine: (line) => {
        if (line.startsWith("making a Python")) stop.abort(new Error("laptop closed"));
      },
    });
    await expect(gone).rejects.toThrow(/abort|closed/);
    const builder = ownerOf(made.folder, 1);
    expect(existsSync(`/proc/${builder}`)).toBe(true);
    await made.prepare();
    expect(made.lines.filter((line) => line.startsWith("making a Python"))).toHaveLength(1);
  });

  it("is begun anew after a build that was killed, wherever that was", async () => {
    for (const moment of [
      "making a Python",
      "comparing the wheels",
      "installing the packages",
      "trying torch",
    ]) {
      const made = place();
      let kills = 0;
      await made.prepare({
        onLine: (line) => {
          made.lines.push(line);
          if (kills > 0 || !line.startsWith(moment)) return;
          try {
            process.kill(ownerOf(made.folder, 1), "SIGKILL");
            kills += 1;
          } catch {
            // It was faster than this test: nothing to kill any more.
          }
        },
      });
      expect(made.run("demo-tool")).toBe("demo runs\n");
      expect(leftBeside(made.folder)).toEqual([]);
      if (kills === 1 && !made.lines.includes(`the environment ${made.folder} is complete`)) {
        expect(made.lines).toContain("the build was killed; it begins again");
      }
    }
  });

  it("takes over from a dead owner on the same host, and from one that died before it had signed", async () => {
    const made = place();
    const first = join(`${made.folder}.lock`, "1");
    const second = join(`${made.folder}.lock`, "2");
    mkdirSync(first, { recursive: true });
    mkdirSync(second);
    mkdirSync(`${made.folder}.build-1/bin`, { recursive: true });
    // A pid that was handed out again is somebody else: its start time differs.
    const boot = readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim();
    writeFileSync(join(first, "owner"), `${hostname()} ${process.pid} 1 ${boot}\n`);
    const longAgo = new Date(Date.now() - 3_600_000);
    utimesSync(second, longAgo, longAgo);
    await made.prepare();
    expect(made.run("demo-tool")).toBe("demo runs\n");
    expect(leftBeside(made.folder)).toEqual([]);
  });

  it("waits for an owner on another host as long as it shows signs of life, and no longer", async () => {
    const made = place();
    const first = join(`${made.folder}.lock`, "1");
    mkdirSync(first, { recursive: true });
    writeFileSync(join(first, "owner"), "elsewhere 42 1 another-boot\n");
    writeFileSync(join(first, "heartbeat"), "");
    writeFileSync(join(first, "log.txt"), "working elsewhere\n");
    const stop = new AbortController();
    let looks = 0;
    const clock = {
      now: () => Date.now(),
      sleep: async () => {
        looks += 1;
        if (looks === 3) stop.abort(new Error("enough"));
      },
    };
    await expect(made.prepare({ signal: stop.signal, world: { ...world, clock } })).rejects.toThrow("enough");
    expect(made.lines).toEqual(["working elsewhere"]);
    expect(existsSync(join(`${made.folder}.lock`, "2"))).toBe(false);
    const longAgo = new Date(Date.now() - 3_600_000);
    utimesSync(join(first, "heartbeat"), longAgo, longAgo);
    await made.prepare();
    expect(made.run("demo-tool")).toBe("demo runs\n");
  });

  it("does not trust a folder without the completion marker, nor one whose interpreter is gone", async () => {
    const made = place();
    mkdirSync(join(made.folder, "bin"), { recursive: true });
    writeFileSync(join(made.folder, "half"), "");
    await made.prepare();
    expect(existsSync(join(made.folder, "half"))).toBe(false);
    rmSync(join(made.folder, "bin", "python"));
    await made.prepare();
    expect(made.run("demo-tool")).toBe("demo runs\n");
    expect(leftBeside(made.folder)).toEqual([]);
  });

  it("keeps what would send packages elsewhere away from pip, and pip's own settings", async () => {
    const made = place();
    const elsewhere = temporaryFolder().path;
    writeFileSync(join(elsewhere, "demo_tool.py"), "raise SystemExit('the wrong one')\n");
    const misled = here({ PYTHONPATH: elsewhere, PIP_TARGET: elsewhere, PIP_USER: "1", PYTHONHOME: "" });
    await made.prepare({}, misled);
    expect(readdirSync(elsewhere)).toEqual(["demo_tool.py"]);
    expect(made.run("demo-tool")).toBe("demo runs\n");
  });

  it("runs the profile's setup lines before, and says which part failed", async () => {
    const at = temporaryFolder().path;
    quickPython(at, "python-of-module");
    const made = place({ python: "python-of-module" }, at);
    await expect(made.prepare({ setup: ["cd /", "ls /no/such/module"] })).rejects.toMatchObject({
      message: expect.stringContaining("a setup line of the profile failed with code 2"),
    });
    await made.prepare({ setup: [`PATH='${at}':$PATH`] });
    expect(made.run("demo-tool")).toBe("demo runs\n");
  });
});
