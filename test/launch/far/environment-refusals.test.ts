import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { messageOf } from "../../../src/core/errors.ts";
import { house, place, python } from "./environment-support.ts";
import { here, makeWheel, program, temporaryFolder, world } from "./support.ts";

/** Without settings and proxies of the machine that runs this. */
const ALONE = {
  PIP_CONFIG_FILE: "/dev/null",
  PIP_EXTRA_INDEX_URL: undefined,
  http_proxy: undefined,
  HTTP_PROXY: undefined,
  all_proxy: undefined,
  ALL_PROXY: undefined,
};

describe("an environment that cannot be made", { timeout: 180_000 }, () => {
  it("says that Python is too old, missing, or something else", async () => {
    const at = temporaryFolder().path;
    const old = program(join(at, "old"), "#!/bin/sh\necho 3.9.18\n");
    expect(await place({ python: old }).refusal()).toMatchObject({
      actor: "user",
      code: "PYTHON_TOO_OLD",
      message: expect.stringContaining(`the payload needs Python 3.10 or newer; ${old} is 3.9.18`),
    });
    expect(await place({ python: "/no/such/python" }).refusal()).toMatchObject({ code: "PYTHON_MISSING" });
    const odd = program(join(at, "odd"), "#!/bin/sh\necho hello\n");
    expect(await place({ python: odd }).refusal()).toMatchObject({ code: "PYTHON_MISSING" });
  });

  it("names the first wheel that does not fit this machine or this Python", async () => {
    const at = temporaryFolder().path;
    const cases = [
      { tags: "py3-none-manylinux_2_99_x86_64", says: "needs glibc 2.99; this machine has" },
      { tags: "cp27-cp27m-manylinux_2_17_x86_64", says: "is for cp27; this Python is cp3" },
      { tags: "py3-none-manylinux_2_17_s390x", says: "is for manylinux_2_17_s390x; this machine is" },
    ];
    const houses = cases.map(({ tags }, index) => {
      const wheels = join(at, `house-${index}`);
      return { wheels, line: makeWheel(wheels, { name: "sharp", version: "3.0", tags }, python) };
    });
    for (const [index, { tags, says }] of cases.entries()) {
      const { wheels = "", line = "" } = houses[index] ?? {};
      const made = place({ wheelhouse: wheels });
      const [, rest = ""] = made.environment.locks;
      writeFileSync(made.environment.locks[0] ?? "", "");
      writeFileSync(rest, line);
      expect(await made.refusal()).toMatchObject({
        actor: "user",
        code: "WHEELHOUSE_UNFIT",
        message: expect.stringContaining(`sharp-3.0-${tags}.whl ${says}`),
      });
    }
  });

  it("names a package of which there is no wheel, with the versions there are", async () => {
    const made = place();
    writeFileSync(made.environment.locks[1] ?? "", "demo-tool==7.0\n");
    expect(await made.refusal()).toMatchObject({
      code: "WHEELHOUSE_UNFIT",
      message: expect.stringContaining(`${house} has no wheel of demo-tool==7.0 (only of 1.2)`),
    });
  });

  it("refuses a wheel with another digest, shows what pip said, and begins anew the next time", async () => {
    const made = place();
    const file = made.environment.locks[1] ?? "";
    const right = readFileSync(file, "utf8");
    writeFileSync(file, right.replace(/sha256:[0-9a-f]{8}/, "sha256:00000000"));
    expect(await made.refusal()).toMatchObject({
      actor: "remote",
      code: "PACKAGES_FAILED",
      message: expect.stringContaining("THESE PACKAGES DO NOT MATCH THE HASHES"),
    });
    expect(readdirSync(join(made.folder, ".."))).toEqual(["abc.lock"]);
    writeFileSync(file, right);
    await made.prepare();
    expect(made.run("demo-tool")).toBe("demo runs\n");
  });

  it("says that torch cannot be had from the place that was named", async () => {
    const made = place({ wheelhouse: null });
    const empty = temporaryFolder().path;
    const failed = made.prepare({ torchSource: empty });
    await expect(failed).rejects.toMatchObject({ code: "TORCH_UNREACHABLE" });
    const environment = { UNDERSTUDY_FAR_TORCH_WHEELS: empty };
    const again = made.prepare({ world: { ...world, environment } });
    await expect(again).rejects.toMatchObject({ code: "TORCH_UNREACHABLE" });
  });

  it("says first that an index cannot be reached, and where all that was said lies", async () => {
    const made = place({ wheelhouse: null });
    const failed = made
      .prepare(
        { torchSource: "https://me:s3cret@no-such-index.invalid/whl/cpu" },
        here({ ...ALONE, PIP_RETRIES: "1" }),
      )
      .then(
        () => undefined,
        (error: unknown) => error,
      );
    expect(await failed).toMatchObject({ actor: "remote", code: "TORCH_UNREACHABLE" });
    const [first, ...rest] = messageOf(await failed).split("\n");
    expect(first).toMatch(
      /could not be made: there is no connection to https:\/\/no-such-index\.invalid\/whl\/cpu from there.* \(torch for the CPU could not be installed\)$/,
    );
    expect(rest).toEqual([`  all that was said: ${made.folder}.lock/1/log.txt on ${here().name}`]);
    expect(readFileSync(`${made.folder}.lock/1/log.txt`, "utf8")).toContain("ERROR:");
    expect(messageOf(await failed)).not.toContain("s3cret");
  });

  it("blames no connection where something came and was another thing", async () => {
    const made = place();
    const file = made.environment.locks[1] ?? "";
    writeFileSync(file, readFileSync(file, "utf8").replace(/sha256:[0-9a-f]{8}/, "sha256:00000000"));
    const lines = messageOf(await made.refusal()).split("\n");
    expect(lines[0]).toContain("the packages of requirements.lock could not be installed");
    expect(lines.at(-1)).toContain(`${made.folder}.lock/1/log.txt`);
  });

  it("says that a folder cannot be made", async () => {
    const at = temporaryFolder().path;
    writeFileSync(join(at, "file"), "");
    const made = place({ folder: join(at, "file", "envs", "abc") });
    expect(await made.refusal()).toMatchObject({
      message: expect.stringContaining(`the folder ${join(at, "file", "envs")} cannot be made`),
    });
  });
});
