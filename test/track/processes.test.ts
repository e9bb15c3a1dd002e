import { fork, type ChildProcess } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { systemClock } from "../../src/core/clock.ts";
import { openStore } from "../../src/track/index.ts";
import { compile } from "../launch/compile.ts";
import { aRun, freshFolder, freshPath } from "./support.ts";

const place = freshFolder();
mkdirSync(join(place, "out"));
const output = compile(join(place, "out"), ["track/index.ts", "core/clock.ts"]);
const writer = join(place, "writer.mjs");
writeFileSync(
  writer,
  `import { openStore } from ${JSON.stringify(join(output, "track/index.js"))};
   import { systemClock } from ${JSON.stringify(join(output, "core/clock.js"))};
   const [path, owner, what] = process.argv.slice(2);
   const store = openStore(path, systemClock);
   const RUN = "20260131-101500-smoke-ab12";
   if (what === "open") process.exit(0);
   const acquire = () => {
     for (;;) {
       const answer = store.acquireLease(RUN, { owner, milliseconds: 60_000 });
       if (answer.outcome === "acquired") return answer.lease;
       Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1 + Math.random() * 5);
     }
   };
   if (what === "turns") {
     for (let turn = 0; turn < 15; turn++) {
       const lease = acquire();
       store.appendEvent(lease, { type: "in", data: { owner } });
       store.appendEvent(lease, { type: "out", data: { owner } });
       store.releaseLease(lease);
     }
   } else {
     const lease = acquire();
     for (let number = 1; ; number++) {
       store.ingest(lease, {
         stream: "s", from: number - 1, to: number,
         lines: [{ type: "n", at: null, attempt: 1, data: { number }, metrics: [{ name: "m", step: number, value: number }] }],
       });
       process.send(number);
     }
   }`,
);

const begin = (path: string, owner: string, what: string): ChildProcess => fork(writer, [path, owner, what]);
const end = async (child: ChildProcess): Promise<number | null> =>
  new Promise((resolve) => {
    child.once("exit", resolve);
  });

describe("several processes on one store", () => {
  it("make and migrate it together", { timeout: 60_000 }, async () => {
    const path = freshPath();
    const codes = await Promise.all(["a", "b", "c", "d"].map((owner) => end(begin(path, owner, "open"))));
    expect(codes).toEqual([0, 0, 0, 0]);
  });

  it("act one after the other under the lease", { timeout: 60_000 }, async () => {
    const path = freshPath();
    const store = openStore(path, systemClock);
    const { id } = store.createRun(aRun());
    expect(await Promise.all(["a", "b", "c"].map((owner) => end(begin(path, owner, "turns"))))).toEqual([
      0, 0, 0,
    ]);
    const events = store.events(id, { types: ["in", "out"] });
    expect(events).toHaveLength(90);
    for (let index = 0; index < events.length; index += 2) {
      expect([events[index]?.type, events[index + 1]?.type]).toEqual(["in", "out"]);
      expect(events[index]?.data).toEqual(events[index + 1]?.data);
    }
  });

  it(
    "lose nothing that a killed writer had committed, and nothing is there by half",
    { timeout: 60_000 },
    async () => {
      for (const wait of [1, 13, 40, 77]) {
        const path = freshPath();
        const store = openStore(path, systemClock);
        const { id } = store.createRun(aRun());
        const child = begin(path, "writer", "flood");
        let told = 0;
        await new Promise<void>((resolve) => {
          child.on("message", (number: number) => {
            told = number;
            if (number === wait) {
              child.kill("SIGKILL");
              resolve();
            }
          });
        });
        await end(child);
        const again = openStore(path, systemClock);
        const position = again.cursor(id, "s");
        expect(position).toBeGreaterThanOrEqual(told);
        expect(again.events(id, { types: ["n"] }).map(({ data }) => data)).toEqual(
          Array.from({ length: position }, (_, index) => ({ number: index + 1 })),
        );
        expect(again.series(id, "m")).toHaveLength(position);
        const taken = again.acquireLease(id, { owner: "next", milliseconds: 1000, replacing: "writer" });
        expect(taken.outcome).toBe("acquired");
      }
    },
  );
});
