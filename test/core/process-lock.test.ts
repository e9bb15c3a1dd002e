import { fork } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { systemClock } from "../../src/core/clock.ts";
import { withProcessLock } from "../../src/core/process-lock.ts";
import { compile } from "../launch/compile.ts";
import { temporaryFolder } from "../launch/support.ts";

describe("withProcessLock", () => {
  it("lets one process work at a time, and takes over from a killed one", { timeout: 60_000 }, async () => {
    const folder = temporaryFolder();
    const place = folder.path;
    const output = compile(place, ["core/process-lock.ts", "core/clock.ts"]);
    const program = join(place, "holder.mjs");
    writeFileSync(
      program,
      `import { withProcessLock } from ${JSON.stringify(join(output, "core/process-lock.js"))};
       import { systemClock } from ${JSON.stringify(join(output, "core/clock.js"))};
       import { appendFileSync } from "node:fs";
       const [lock, log, rounds, hang] = process.argv.slice(2);
       for (let round = 0; round < Number(rounds); round++) {
         await withProcessLock(lock, { clock: systemClock }, async () => {
           appendFileSync(log, "in\\n");
           await systemClock.sleep(hang ? 60_000 : 30);
           appendFileSync(log, "out\\n");
         });
       }`,
    );
    const lock = join(place, "lock");
    const log = join(place, "log");
    const begin = (...args: string[]): ReturnType<typeof fork> => fork(program, [lock, log, ...args]);
    const hanging = begin("1", "hang");
    while (!existsSync(log)) await systemClock.sleep(20);
    hanging.kill("SIGKILL");
    await new Promise((resolve) => hanging.once("exit", resolve));
    const waits: number[] = [];
    await withProcessLock(
      lock,
      { clock: systemClock, onWait: (holder) => waits.push(holder) },
      async () => undefined,
    );
    expect(waits).toEqual([]);
    const others = [begin("3"), begin("3"), begin("3")];
    await Promise.all(others.map((child) => new Promise((resolve) => child.once("exit", resolve))));
    const seen = readFileSync(log, "utf8").trim().split("\n").slice(1);
    expect(seen).toEqual(Array.from({ length: 9 }, () => ["in", "out"]).flat());
    folder.remove();
  });
});
