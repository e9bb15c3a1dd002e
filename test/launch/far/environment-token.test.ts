import { spawnSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { tokenIndex, type TokenIndex } from "../token-index.ts";
import { house, place, quickPython } from "./environment-support.ts";
import { here, program, temporaryFolder } from "./support.ts";

describe("the token of a package index", { timeout: 180_000 }, () => {
  let index: TokenIndex;
  beforeAll(async () => {
    index = await tokenIndex(house);
  });
  afterAll(() => index.close());

  it("gets torch, and is in no argument, file of others or line of a build", async () => {
    const at = temporaryFolder().path;
    // Looks at all processes, the build's own among them, and at the files of the build, whenever Python is called.
    const quick = quickPython(at);
    const seen = join(at, "seen");
    const looking = program(
      join(at, "looking-python"),
      [
        "#!/bin/sh",
        `cat /proc/[0-9]*/cmdline 2>/dev/null | tr '\\0' ' ' >>'${seen}'`,
        `find '${join(at, "shared envs")}' -type f -perm /077 -exec cat {} + >>'${seen}' 2>/dev/null`,
        `exec '${quick}' "$@"`,
        "",
      ].join("\n"),
    );
    const lockFile = join(at, "only.lock");
    writeFileSync(lockFile, "torch==2.13.0\n");
    const only = place({ python: looking, wheelhouse: null, locks: [lockFile] }, at);
    await only.prepare({ torchSource: index.url }, here({ PIP_CONFIG_FILE: "/dev/null" }));
    expect(only.run("python", "-c", "import torch; print(torch.__version__)")).toBe("2.13.0+cpu\n");
    expect(index.served()).toBeGreaterThan(1);
    expect(readFileSync(seen, "utf8")).toContain("environment");
    expect(readFileSync(seen, "utf8")).toContain(" build ");
    expect(readFileSync(seen, "utf8")).not.toContain(index.token);
    expect(index.shown()).toEqual([]);
    expect(only.lines.join("\n")).not.toContain(index.token);
    // Exit code 1: in no file at all, the owner's either.
    expect(spawnSync("grep", ["-rlF", index.token, at], { encoding: "utf8" })).toMatchObject({
      status: 1,
      stdout: "",
    });
  });

  it("stays with its owner when the build fails", async () => {
    const at = temporaryFolder().path;
    const lockFile = join(at, "only.lock");
    writeFileSync(lockFile, "torch==2.13.0\n");
    const made = place({ python: quickPython(at), wheelhouse: null, locks: [lockFile] }, at);
    const wrong = { torchSource: index.url.replace("/simple", "/nothing-there") };
    const failed = made.prepare(wrong, here({ PIP_CONFIG_FILE: "/dev/null" }));
    await expect(failed).rejects.toMatchObject({ code: "TORCH_UNREACHABLE" });
    await expect(failed).rejects.toMatchObject({ message: expect.not.stringContaining(index.token) });
    const lock = `${made.folder}.lock`;
    expect(existsSync(lock)).toBe(true);
    for (const name of readdirSync(lock, { recursive: true, encoding: "utf8" })) {
      const path = join(lock, name);
      if (!statSync(path).isFile()) continue;
      expect(readFileSync(path, "utf8"), name).not.toContain(index.token);
    }
    expect(index.shown()).toEqual([]);
  });
});
