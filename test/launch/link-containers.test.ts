import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { chainOf, ended, type Chain } from "./link-support.ts";
import { temporaryFolder, until } from "./support.ts";

const OPTIONS = ["--containers", "docker"];

/** A docker whose containers are lines of a file; `mood` is shell that comes first. What is removed is gone from the file. */
const docker = (
  names: readonly string[],
  mood = "",
): { readonly path: string; readonly left: () => readonly string[] } => {
  const path = temporaryFolder().path;
  const file = join(path, "containers");
  writeFileSync(file, names.map((name) => `${name}\n`).join(""));
  const text = `#!/bin/sh
${mood}
case $1 in
  ps) grep -e "\${4#name=}" ${file} ;;
  run) echo "$2" >>${file} ;;
  rm)
    shift 2
    for name; do grep -vx -e "$name" ${file} >${file}.new; mv ${file}.new ${file}; done ;;
esac
exit 0`;
  writeFileSync(join(path, "docker"), text, { mode: 0o755 });
  return {
    path,
    left: () => readFileSync(file, "utf8").split("\n").slice(0, -1),
  };
};

// Other runs, other people, and names that only begin the same.
const OTHERS = [
  "us-other-a1",
  "us-d-a",
  "us-d-a1x",
  "us-d-all",
  "xus-d-a1",
  "us-d2-a1",
  "us-d-a1-0-b",
  "web",
];

/** Starts a container under the name of this attempt, which the program leaves behind. */
const leaves = (chain: Chain, attempt: number, more: string): void =>
  chain.script(attempt, `docker run us-d-a${attempt}; docker run us-d-a${attempt}-1; ${more}`);

describe("containers of a run", () => {
  it("that earlier attempts have left on this node are removed before another begins, nobody else's", async () => {
    const chain = chainOf("us-d");
    const { path, left } = docker([...OTHERS, "us-d-a1", "us-d-a7-12"]);
    chain.script(1, `cp ${path}/containers "$run/seen"; exit 3`);
    const { code, said } = await chain.link(1, { path, options: OPTIONS });
    expect(code).toBe(3);
    expect(said).toContain("ending containers of earlier attempts: us-d-a1 us-d-a7-12");
    expect(chain.read("seen")?.split("\n").slice(0, -1)).toEqual(OTHERS);
    expect(left()).toEqual(OTHERS);
  });

  it.each([
    ["ends by itself", "exit 3", 3],
    ["is killed", "kill -9 $$", 137],
  ])(
    "that outlive a program which %s are removed, its result being there already",
    async (_what, how, code) => {
      const chain = chainOf("us-d");
      const seen = `[ "$1" != rm ] || ls "${chain.run}/attempts/1" >"${chain.run}/at-removal"`;
      const { path, left } = docker([...OTHERS, "us-d-a2"], seen);
      leaves(chain, 1, how);
      // The link itself has nothing to remove but what is of its own run.
      expect((await chain.link(1, { path, options: OPTIONS })).code).toBe(code);
      expect(left()).toEqual(OTHERS);
      expect(chain.read("at-removal")).toContain("result.json");
    },
  );

  describe("while Slurm ends the job", () => {
    /** Sends TERM to the wrapper while its program, which heeds no signal, is what a client of docker is. How it ends. */
    const ending = async (request: {
      readonly stop?: string;
      readonly squeue: string;
      readonly last?: string;
    }): Promise<{ readonly code: number | null; readonly seen: string }> => {
      const chain = chainOf("us-d");
      const { path, left } = docker(
        OTHERS,
        `[ "$1" != rm ] || ls "${chain.run}/attempts/1" >"${chain.run}/at-removal"`,
      );
      // Fifteen seconds are waited for; here they pass faster.
      for (const [name, text] of [
        ["squeue", request.squeue],
        ["sleep", "exec /bin/sleep 0.05"],
      ] as const)
        writeFileSync(join(path, name), `#!/bin/sh\n${text}\n`, { mode: 0o755 });
      const waits = `while grep -qx us-d-a1 ${path}/containers; do ${request.last ?? "sleep 1"}; done; exit 137`;
      chain.script(1, `trap '' TERM; docker run us-d-a1; : >"$run/up"; ${waits}`);
      const child = chain.start(1, { path, options: OPTIONS });
      const end = ended(child);
      await until(async () => (chain.read("up") === undefined ? undefined : true));
      if (request.stop !== undefined) chain.write("STOP", request.stop);
      child.kill("SIGTERM");
      const { code } = await end;
      expect(left()).toEqual(OTHERS);
      return { code, seen: chain.read("at-removal") ?? "" };
    };
    const OVER = `case "$*" in *"-j 101 -t COMPLETING"*) echo 101 ;; esac`;

    it("are removed at once when the run was stopped now, before the wrapper is killed", async () => {
      const { code, seen } = await ending({ stop: "now\n", squeue: "echo no >&2; exit 1" });
      expect(code).toBe(137);
      expect(seen).not.toContain("result.json");
    });

    it("are removed in time when somebody else has ended the job", async () => {
      const { code, seen } = await ending({ squeue: OVER });
      expect(code).toBe(137);
      expect(seen).not.toContain("result.json");
    });

    it.each([undefined, "cancel\n"])(
      "may save for as long as a preemption lets them, with STOP %j",
      async (stop) => {
        const last = `n=$((\${n:-0} + 1)); [ $n -lt 100 ] || exit 3; sleep 1`;
        const { code, seen } = await ending({
          ...(stop === undefined ? {} : { stop }),
          squeue: "exit 0",
          last,
        });
        expect(code).toBe(3);
        expect(seen).toContain("result.json");
      },
    );
  });

  it("are left alone by a link that has nothing to do, and where there is no docker", async () => {
    const chain = chainOf("us-d");
    const { path, left } = docker(["us-d-a1"]);
    chain.script(1, "exit 1");
    expect((await chain.link(1, { path })).code).toBe(1);
    expect(left()).toEqual(["us-d-a1"]);
    expect((await chain.link(2, { path, options: OPTIONS })).code).toBe(1);
    expect(left()).toEqual(["us-d-a1"]);
    const other = chainOf("us-d");
    other.script(1, "exit 3");
    const none = temporaryFolder().path;
    writeFileSync(join(none, "docker"), "#!/bin/sh\nexit 127\n", { mode: 0o755 });
    expect((await other.link(1, { path: none, options: OPTIONS })).code).toBe(3);
  });

  const impatient = `#!/bin/sh\nwhile [ "$1" = -k ]; do shift 2; done\nshift\nexec /usr/bin/timeout 0.3 "$@"\n`;

  it.each([
    ["hangs at every call", 'case "$1" in ps | rm) exec sleep 60 ;; esac'],
    ["hangs when it is to remove", '[ "$1" != rm ] || exec sleep 60'],
    ["fails", '[ "$1" != rm ] || { echo "Error response from daemon: busy" >&2; exit 1; }'],
    [
      "says something else",
      `[ "$1" != ps ] || { printf '%s\\n' 'Cannot connect' '--force' '$(exit)' '*'; exit 0; }`,
    ],
  ])("cost the run nothing when the daemon %s", async (_what, mood) => {
    const chain = chainOf("us-d");
    const { path, left } = docker([...OTHERS, "us-d-a1"], mood);
    writeFileSync(join(path, "timeout"), impatient, { mode: 0o755 });
    mkdirSync(join(chain.run, "kept"));
    chain.script(1, "checkpoint 10; exit 0");
    expect((await chain.link(1, { path, options: OPTIONS })).code).toBe(0);
    expect(chain.json("attempts/1/result.json")).toMatchObject({ exitCode: 0 });
    expect(left()).toEqual([...OTHERS, "us-d-a1"]);
    expect(existsSync(join(chain.run, "kept"))).toBe(true);
  });
});
