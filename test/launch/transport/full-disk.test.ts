import { chmodSync, mkdirSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, expect, it } from "vitest";
import { sha256 } from "../../../src/core/hash.ts";
import type { JobInput } from "../../../src/launch/schema.ts";
import {
  ensureUploads,
  openTransport,
  writeFar,
  type Transport,
} from "../../../src/launch/transport/index.ts";
import { smallDisk, smallDiskSuite } from "../../real/sshd/small-disk.ts";
import { temporaryFolder } from "../support.ts";
import { sshBench, world } from "./ssh-bench.ts";

const WAYS = { umask: "0022" };
const MB = 2 ** 20;
const clean: (() => Promise<void> | void)[] = [];
afterEach(async () => {
  for (const step of clean.splice(0).toReversed()) await step();
});

interface Stage {
  readonly transport: Transport;
  readonly disk: string;
  /** A file of these megabytes here, for that name on the disk. */
  readonly input: (name: string, megabytes: number) => JobInput;
  /** Runs a shell script on the far machine, in the disk's folder. */
  readonly far: (script: string) => Promise<string>;
}

const stage = async (megabytes: number): Promise<Stage> => {
  const here = temporaryFolder().path;
  const place = temporaryFolder().path;
  chmodSync(place, 0o755);
  const disk = join(place, "disk");
  const bench = await sshBench("ssh2", { prefix: smallDisk(disk, megabytes) });
  clean.push(async () => bench.remove());
  const transport = await openTransport(bench.endpoint, bench.access, world);
  clean.push(async () => transport.close());
  mkdirSync(here, { recursive: true });
  return {
    transport,
    disk,
    input: (name, size) => {
      const source = join(here, name);
      const bytes = Buffer.alloc(Math.round(size * MB), name);
      writeFileSync(source, bytes);
      return {
        role: "data",
        path: join(disk, "data", name),
        source,
        bytes: bytes.length,
        sha256: sha256(bytes),
      };
    },
    far: async (script) => {
      const outcome = await transport.exec(["sh", "-c", `cd "$1" && ${script}`, "sh", disk]);
      if (outcome.kind !== "exited" || outcome.code !== 0) throw new Error(JSON.stringify(outcome));
      return outcome.stdout.toString().trim();
    },
  };
};

const filled = (megabytes: number): string => `head -c ${megabytes * MB} /dev/zero >filler`;
const free = "df -Pk . | tail -n 1 | awk '{print $4}'";

smallDiskSuite("a far disk that is full", ["sshd", "ssh", "ssh-keygen"], () => {
  it("stops an upload with numbers, keeps no half file, and what was whole stays for the next try", async () => {
    const { transport, input, far, disk } = await stage(32);
    await far(filled(20));
    const inputs = [input("a", 2), input("b", 8), input("c", 9)];
    // Whole before the disk fills up: of files that travel at once, any may be the one that no longer fits.
    await ensureUploads(transport, inputs.slice(0, 1), WAYS);
    const before = Number(await far(free));
    const failure: unknown = await ensureUploads(transport, inputs, WAYS).catch((error: unknown) => error);
    expect(failure).toMatchObject({ code: "FAR_DISK_FULL", actor: "remote" });
    expect(String(failure)).toMatch(
      new RegExp(
        `Could not send ${disk}/data/[bc]: the disk is full on .*of the 33\\.6 MB of ${disk} are free, [89]\\.4 MB`,
      ),
    );
    expect(await far("ls data")).not.toContain(".part");
    // Nothing but what is whole takes space.
    expect(Number(await far(free))).toBeGreaterThan(before - 10 * 1024);
    await far("rm filler");
    const { sent } = await ensureUploads(transport, inputs, WAYS);
    expect(sent).toBeLessThan(3);
    for (const { path, sha256: digest } of inputs)
      expect(await far(`sha256sum <'${path}'`)).toContain(digest);
  }, 60_000);

  it("is told before anything is sent, when that much cannot fit", async () => {
    const { transport, input, far, disk } = await stage(32);
    const large = input("large", 33);
    await expect(ensureUploads(transport, [large], WAYS)).rejects.toMatchObject({
      code: "FAR_DISK_FULL",
      message: expect.stringMatching(
        new RegExp(
          `^34\\.6 MB are to be sent to ${disk}/data on .*33\\.6 MB of the 33\\.6 MB of ${disk} are free$`,
        ),
      ),
    });
    expect(await far("ls")).toBe("");
  }, 60_000);

  it("stops small files that go together, and a file of a plan: nothing of them stays", async () => {
    const { transport, input, far, disk } = await stage(16);
    const many = Array.from({ length: 40 }, (_, index) => input(`small-${index}`, 0.3));
    await far(filled(10));
    await expect(ensureUploads(transport, many, WAYS)).rejects.toMatchObject({
      code: "FAR_DISK_FULL",
      message: expect.stringContaining("16.8 MB"),
    });
    expect(await far("find . -type f")).toBe("./filler");
    await far("cat /dev/zero >rest 2>/dev/null || :");
    const file = { path: join(disk, "runs", "job.json"), mode: 0o644, text: "x".repeat(10_000) };
    await expect(writeFar(transport, file)).rejects.toMatchObject({
      code: "FAR_DISK_FULL",
      message: expect.stringContaining("0 bytes of the 16.8 MB"),
    });
    expect(await far("find runs -type f 2>/dev/null || :")).toBe("");
    await far("rm filler rest");
    await ensureUploads(transport, many, WAYS);
    await writeFar(transport, file);
    expect(await far("ls data | wc -l")).toBe("40");
  }, 60_000);

  it("is freed of halves that nobody has come back for in a week, and of no others", async () => {
    const { transport, input, far } = await stage(64);
    const { source, path } = input("large", 34);
    truncateSync(source ?? "", 34 * MB);
    await far(
      "mkdir data && head -c 1000000 /dev/zero >data/old.part && touch -d '8 days ago' data/old.part data/mine && : >data/new.part",
    );
    const mine = input("mine", 1);
    // This one's own part is as old, and is gone on from.
    await far("head -c 1000 /dev/zero >data/large.part && touch -d '8 days ago' data/large.part");
    const large = input("large", 34);
    await ensureUploads(transport, [large, { ...mine, path: `${path}-2` }], WAYS);
    expect((await far("ls data")).split("\n")).toEqual(["large", "large-2", "mine", "new.part"]);
  }, 60_000);
});
