import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { chainOf, ended, type Chain } from "./link-support.ts";
import { sweep, temporaryFolder, until } from "./support.ts";

const PROGRAMS = ["mkdir", "mv", "ln", "rm"] as const;

/** Programs that count their calls and kill the shell that called them (SIGKILL) before or after the given one. */
const killer = (call: number, moment: "before" | "after"): { readonly path: string; calls(): number } => {
  const path = temporaryFolder().path;
  mkdirSync(join(path, "calls"));
  const kill = `[ "$calls" -ne ${call} ] || kill -9 $PPID`;
  for (const name of PROGRAMS) {
    const lines = [
      "#!/bin/sh",
      `calls=1; while ! /bin/mkdir ${path}/calls/$calls 2>/dev/null; do calls=$((calls + 1)); done`,
      moment === "before" ? `[ "$calls" -ne ${call} ] || { kill -9 $PPID; exit 1; }` : ":",
      `/bin/${name} "$@"; code=$?`,
      moment === "after" ? kill : ":",
      "exit $code",
    ];
    writeFileSync(join(path, name), `${lines.join("\n")}\n`, { mode: 0o755 });
  }
  return { path, calls: () => readdirSync(join(path, "calls")).length };
};

/** Attempts that have been begun, by their claims. */
const begun = (chain: Chain): readonly string[] =>
  readdirSync(join(chain.run, "claims"))
    .filter((name) => !name.includes("link") && !name.startsWith("."))
    .toSorted();

const script = (chain: Chain): void => {
  for (let n = 1; n < 9; n++) chain.script(n, `checkpoint $((n * 2)); [ $n -ge 5 ] || exit 3`);
};

describe("a link that is killed", () => {
  // Only up to the wrapper: what happens after it is its own tests' business. It makes no call before its claim.
  const callsOfLink = async (): Promise<number> => {
    const chain = chainOf("us-k");
    const watch = killer(0, "before");
    chain.script(1, `ls ${watch.path}/calls | wc -l >"$run/calls"; exit 3`);
    await chain.link(1, { path: watch.path });
    return Number(chain.read("calls"));
  };

  it.each(["before", "after"] as const)(
    "at any point (%s each effect) is followed by one that goes on, and no number is given twice",
    async (moment) => {
      const calls = await callsOfLink();
      expect(calls).toBeGreaterThan(10);
      for (let call = 1; call <= calls; call++) {
        const chain = chainOf("us-k");
        script(chain);
        await chain.link(1, { path: killer(call, moment).path });
        const before = begunOrNone(chain);
        // The scheduler starts the same job again, or the next one, or both.
        if (call % 3 !== 0) expect((await chain.link(1, { restart: 1 })).code).toBe(3);
        if (call % 3 !== 1) expect((await chain.link(2)).code).toBe(3);
        for (const name of begun(chain)) expect(chain.read(`claims/${name}/owner`)).toMatch(/^10[12]\n$/);
        const ran = chain.ran();
        expect(new Set(ran).size).toBe(ran.length);
        expect(ran.length).toBeGreaterThan(0);
        expect(begun(chain).length).toBeGreaterThan(before.length);
        for (const n of ran) {
          expect(chain.read(`attempts/${n}/log.txt`)).toBe(`attempt ${n}\n`);
          expect(chain.json(`attempts/${n}/job.json`)).toMatchObject({ attempt: { number: n } });
        }
        // A number that was claimed by the killed one, and ran, ran in it.
        const newest = chain.json(`attempts/${ran.at(-1)}/result.json`);
        expect(newest).toMatchObject({ exitCode: 3 });
      }
    },
    120_000,
  );

  it("between its number and its start has used that number up", async () => {
    const chain = chainOf("us-k");
    script(chain);
    mkdirSync(join(chain.run, "claims/us-k-a1"), { recursive: true });
    expect((await chain.link(1)).code).toBe(3);
    expect(chain.ran()).toEqual([2]);
    expect(chain.read("fence")).toBe("T.2\n");
  });

  it("that cannot write the name of an attempt has not begun it", async () => {
    const chain = chainOf("us-k");
    script(chain);
    const full = temporaryFolder().path;
    // The quota is reached with the first file of the attempt's claim.
    const mv = `case $3 in *link*) ;; */owner) echo 'Disk quota exceeded' >&2; exit 1 ;; esac; exec /bin/mv "$@"`;
    writeFileSync(join(full, "mv"), `#!/bin/sh\n${mv}\n`, { mode: 0o755 });
    expect((await chain.link(1, { path: full })).code).toBe(69);
    expect(existsSync(join(chain.run, "claims/us-k-a1"))).toBe(false);
    expect((await chain.link(2)).code).toBe(3);
    expect(chain.ran()).toEqual([1]);
    expect(chain.read("claims/us-k-a1/owner")).toBe("102\n");
  });

  it("before it left its name comes back by requeue", async () => {
    const chain = chainOf("us-k");
    script(chain);
    mkdirSync(join(chain.run, "claims/us-k-a1.link-1"), { recursive: true });
    expect((await chain.link(1, { restart: 1 })).code).toBe(3);
    expect((await chain.link(1, { job: 555 })).code).toBe(75);
  });

  it("again and again at the start ends after as many numbers as the control plane would give it", async () => {
    const chain = chainOf("us-k");
    script(chain);
    for (const n of [1, 2, 3, 4]) mkdirSync(join(chain.run, `claims/us-k-a${n}`), { recursive: true });
    expect((await chain.link(1)).code).toBe(1);
    expect(chain.json("links/1-1.json")).toMatchObject({
      decision: "failed",
      reason: "4 attempts were lost to machines: unfit, killed or without a trace",
    });
  });
});

describe("a node that was unfit", () => {
  it("is kept from the jobs that wait, beside what they exclude already; without an answer the link goes on", async () => {
    const chain = chainOf("us-k");
    script(chain);
    const path = temporaryFolder().path;
    const program = (name: string, text: string): void =>
      writeFileSync(join(path, name), `#!/bin/sh\n${text}\n`, { mode: 0o755 });
    program("squeue", `echo "$*" >"${chain.run}/asked"; printf '103\\n104\\n'`);
    program("scontrol", `echo "$*" >>"${chain.run}/told"`);
    const options = ["--avoid", "n8,n9", "--python", "/nowhere/python"];
    expect((await chain.link(1, { path, node: "n7", options })).code).toBe(69);
    expect(chain.read("asked")).toBeUndefined();
    await chain.link(2, { path, node: "n7", options: ["--avoid", "n8,n9"] });
    expect(chain.read("asked")).toBe("-h -n us-k-a1 -t PENDING -o %i\n");
    expect(chain.read("told")).toBe(
      "update JobId=103 ExcNodeList=n8,n9,n7\nupdate JobId=104 ExcNodeList=n8,n9,n7\n",
    );
    program("squeue", "echo 'Socket timed out' >&2; exit 1");
    expect((await chain.link(3, { path })).code).toBe(3);
    expect(chain.ran()).toEqual([2, 3]);
  });
});

describe("torn and half-written files", () => {
  it("are none: the chain goes on", async () => {
    const chain = chainOf("us-k");
    script(chain);
    await chain.link(1);
    const whole = chain.read("attempts/1/result.json") ?? "";
    for (const torn of ["", "{", whole.slice(0, whole.indexOf('"exitCode":') + 11), '{"exitCode":0']) {
      chain.write("attempts/1/result.json", torn);
      chain.write("output/checkpoint-10/_COMPLETE.json", "");
      chain.write("links/1-0.json", '{"attempt":1,"progress":');
      chain.write("links/1-0.json.77.tmp", "{");
      chain.write("fence.99.tmp", "Z");
    }
    chain.write("output/checkpoint-x/_COMPLETE.json", "{}\n");
    expect((await chain.link(2)).code).toBe(3);
    expect(chain.ran()).toEqual([1, 2]);
    expect(chain.json("links/1-2.json")).toMatchObject({ progress: 2 });
  });

  it("a torn final marker is no success", async () => {
    const chain = chainOf("us-k");
    chain.script(1, 'checkpoint 10; printf "{\\"step" >"$run/output/checkpoint-10/_COMPLETE.json"');
    await chain.link(1);
    expect((await chain.link(2)).code).toBe(1);
    expect(chain.json("links/1-2.json")).toMatchObject({ decision: "failed" });
  });
});

describe("several at once", () => {
  afterEach(async () => {
    await sweep("us-z-a1");
  });

  it("of many submissions of one link exactly one runs", async () => {
    const chain = chainOf("us-k");
    chain.script(1, "sleep 0.3; checkpoint 10");
    const all = await Promise.all([1, 2, 3, 4, 5, 6].map(async (job) => chain.link(1, { job })));
    expect(all.map(({ code }) => String(code)).toSorted()).toEqual(["0", "75", "75", "75", "75", "75"]);
    expect(chain.ran()).toEqual([1]);
    expect(readdirSync(join(chain.run, "claims/us-k-a1.link-1"))).toEqual(["owner"]);
  });

  it("of two links at once each has a number of its own, and the one that the fence names runs", async () => {
    const chain = chainOf("us-k");
    for (const n of [1, 2]) chain.script(n, "checkpoint 1; exit 3");
    const both = await Promise.all([1, 2].map(async (link) => chain.link(link)));
    const number = chain.read("fence") === "T\n" ? 1 : 2;
    expect(begun(chain)).toEqual(["us-k-a1", "us-k-a2"]);
    expect(chain.ran()).toContain(number);
    expect(chain.json(`attempts/${number}/result.json`)).toMatchObject({ exitCode: 3 });
    expect(both.filter(({ code }) => code !== 3 && code !== 75)).toEqual([]);
  });

  it("a writer of an earlier attempt, left over on a node that was lost, is stopped by the fence", async () => {
    const chain = chainOf("us-z");
    // As the payload does before each save: it compares the fence with its own token.
    chain.script(
      1,
      `echo up; while :; do IFS= read -r owner <"$run/fence"; [ "$owner" = T ] || { echo fenced; exit 75; }; echo x >>"$run/written"; sleep 0.05; done`,
    );
    const zombie = ended(chain.start(1));
    await until(async () => (chain.read("written") === undefined ? undefined : true));
    // The node is lost: Slurm starts the job again elsewhere while the old one is still there.
    chain.script(
      2,
      `sleep 0.3; wc -l <"$run/written" >"$run/first"; sleep 0.5; wc -l <"$run/written" >"$run/second"; checkpoint 10`,
    );
    expect((await chain.link(1, { restart: 1, node: "n2" })).code).toBe(0);
    expect((await zombie).code).toBe(75);
    expect(chain.read("first")).toBe(chain.read("second"));
    expect(readFileSync(join(chain.run, "attempts/1/log.txt"), "utf8")).toContain("fenced");
    expect(chain.json("attempts/2/result.json")).toMatchObject({ exitCode: 0, host: "n2" });
  });
});

function begunOrNone(chain: Chain): readonly string[] {
  return existsSync(join(chain.run, "claims")) ? begun(chain) : [];
}
