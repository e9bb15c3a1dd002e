import { utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { chainOf, ended, meddling, type Chain } from "./link-support.ts";
import { sweep, until } from "./support.ts";

/** What leaves a stop: the run's STOP, then one for the newest attempt, if that has a folder. */
const stop = ({ run }: Chain): string =>
  `echo cancel >"${run}/STOP"; for n in 3 2 1; do [ -d "${run}/claims/us-s-a$n" ] || continue; [ ! -d "${run}/attempts/$n" ] || echo cancel >"${run}/attempts/$n/STOP"; break; done`;

describe("a stop of the whole run", () => {
  afterEach(async () => {
    for (const n of [1, 2]) await sweep(`us-s-a${n}`);
  });

  // The second attempt: its folder is its link's to make, the first one's comes with the submission.
  it.each([
    ["before its number is taken", "mv", "*claims/us-s-a2"],
    ["before the record of it", "mv", "*links/1-2.json"],
    ["before its folder is made", "mkdir", "*attempts/2"],
    ["before its manifest is there", "mv", "*attempts/2/job.json"],
    ["before the fence is its own", "mv", "*/fence"],
  ])("that comes in the gap %s is not lost", async (_what, program, fits) => {
    const chain = chainOf("us-s");
    chain.script(1, "checkpoint 2; exit 3");
    chain.script(2, 'until [ -e "$run/attempts/2/STOP" ]; do sleep 0.1; done; exit 3');
    expect((await chain.link(1)).code).toBe(3);
    const path = meddling(program, fits, `[ -e "${chain.run}/STOP" ] || { ${stop(chain)}; }`);
    const { code, said } = await chain.link(2, { path });
    expect({ code, said }).toMatchObject({ code: 3 });
    expect(chain.read("STOP")).toBe("cancel\n");
    // Either it never began, or it was told.
    const last = chain.json("links/1-2-2.json") ?? chain.json("links/1-2.json");
    const hasRun = chain.ran().includes(2);
    expect(last["decision"]).toBe(hasRun ? "run" : "stopped");
    if (hasRun) expect(chain.read("attempts/2/STOP")).toBe("cancel\n");
    expect((await chain.link(3)).code).toBe(3);
    expect(chain.json("links/1-3.json")).toMatchObject({ decision: "stopped" });
  });

  it.each(["/bin/sh", "/bin/bash"])(
    "that nobody has passed on reaches the attempt that runs, and its time of grace begins, under %s",
    async (shell) => {
      const chain = chainOf("us-s");
      chain.script(
        1,
        "trap '' TERM; until [ -e \"$run/attempts/1/STOP\" ]; do sleep 0.1; done; echo heard; sleep 60",
      );
      const child = chain.start(1, { shell: [shell], options: ["--grace", "1"] });
      const done = ended(child);
      await until(async () => chain.read("attempts/1/log.txt") ?? undefined);
      writeFileSync(join(chain.run, "STOP"), "cancel\n");
      // TERM goes to the program after a second, KILL ten seconds later.
      expect((await done).code).toBe(137);
      expect(chain.read("attempts/1/STOP")).toBe("cancel\n");
      expect(chain.read("attempts/1/log.txt")).toContain("heard");
    },
    60_000,
  );

  it("that is older than the submission stops nothing", async () => {
    const chain = chainOf("us-s");
    chain.write("STOP", "cancel\n");
    const old = new Date(Date.now() - 3_600_000);
    utimesSync(join(chain.run, "STOP"), old, old);
    chain.script(1, 'sleep 3; [ ! -e "$run/attempts/1/STOP" ] || exit 3; checkpoint 10');
    expect((await chain.link(1, { options: ["--grace", "1"] })).code).toBe(0);
  });
});
