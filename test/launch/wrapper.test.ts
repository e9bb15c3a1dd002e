import { execFileSync, spawn, type ChildProcess } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { layoutAt, WrapperResult, type AttemptLayout } from "../../src/launch/index.ts";
import { sweep, temporaryFolder, until, wrapperPath } from "./support.ts";

const available = (program: string): boolean => {
  try {
    execFileSync("/bin/sh", ["-c", `command -v ${program}`]);
    return true;
  } catch {
    return false;
  }
};

describe("wrapper.sh", () => {
  const folders: ReturnType<typeof temporaryFolder>[] = [];
  afterEach(async () => {
    await sweep("m1");
    for (const folder of folders.splice(0)) folder.remove();
  });

  const attempt = (): AttemptLayout => {
    const folder = temporaryFolder();
    folders.push(folder);
    const layout = layoutAt(join(folder.path, "attempts/1"));
    mkdirSync(layout.folder, { recursive: true });
    return layout;
  };
  const start = (
    layout: AttemptLayout,
    program: string,
    options: readonly string[] = [],
    shell = ["/bin/sh"],
  ): ChildProcess => {
    const [command = "", ...before] = shell;
    const args = [
      ...before,
      wrapperPath,
      "--run",
      layout.run,
      "--attempt",
      "1",
      "--marker",
      "m1",
      "--token",
      "t1",
      "--keep",
      "PATH LC_*",
      ...options,
      "--",
      "/bin/sh",
      "-c",
      program,
    ];
    return spawn(command, args, { detached: true, stdio: ["ignore", "ignore", "pipe"] });
  };
  const finish = async (child: ChildProcess): Promise<{ code: number | null; said: string }> => {
    let said = "";
    child.stderr?.on("data", (data: Buffer) => (said += data.toString()));
    const code = await new Promise<number | null>((resolve) => child.once("close", resolve));
    return { code, said };
  };
  const log = (layout: AttemptLayout): string =>
    existsSync(layout.log) ? readFileSync(layout.log, "utf8") : "";
  const result = (layout: AttemptLayout): WrapperResult =>
    WrapperResult.parse(JSON.parse(readFileSync(layout.result, "utf8")));
  const said = async (layout: AttemptLayout, text: string): Promise<true> =>
    until(async () => (log(layout).includes(text) ? true : undefined));
  const snapshot = (folder: string): string[] =>
    readdirSync(folder, { recursive: true, encoding: "utf8" })
      .map((name) => `${name} ${statSync(join(folder, name)).mtimeMs}`)
      .toSorted();
  const WAIT_STOP =
    "echo up; while [ ! -e ../STOP ] && [ ! -e STOP ]; do sleep 0.05; done; echo stopping; exit 3";

  it.skipIf(!available("dash"))("is clean for dash", () => {
    execFileSync("dash", ["-n", wrapperPath]);
  });

  it.skipIf(!available("shellcheck"))("is clean for shellcheck", () => {
    execFileSync("shellcheck", ["-s", "sh", wrapperPath]);
  });

  const SHELLS = [["dash"], ["bash", "--posix"], ["busybox", "sh"]].filter(([name = ""]) => available(name));
  it.each(SHELLS)("runs a program under %s and tells how it ended", async (...shell) => {
    const layout = attempt();
    const { code } = await finish(start(layout, "echo out; echo err >&2; exit 42", [], shell));
    expect(code).toBe(42);
    expect(log(layout)).toBe("out\nerr\n");
    expect(result(layout)).toMatchObject({ exitCode: 42, reason: "exited", signal: null });
    const killed = attempt();
    expect((await finish(start(killed, "kill -KILL $$", [], shell))).code).toBe(137);
    expect(result(killed)).toMatchObject({ exitCode: 137, reason: "signalled", signal: "SIGKILL" });
  });

  it("a loser says fenced, ends with 75 and writes nothing", async () => {
    const layout = attempt();
    const winner = start(layout, "echo up; sleep 30");
    await said(layout, "up");
    await until(async () =>
      readFileSync(layout.supervisor, "utf8").includes('"payload":{') ? true : undefined,
    );
    const before = snapshot(layout.run);
    const loser = await finish(start(layout, "echo second"));
    expect(loser).toMatchObject({ code: 75 });
    expect(loser.said).toMatch(/^fenced/);
    expect(snapshot(layout.run)).toEqual(before);
    winner.kill("SIGKILL");
  });

  it("of many at once exactly one runs", async () => {
    const layout = attempt();
    const all = await Promise.all(
      Array.from({ length: 8 }, () => finish(start(layout, "echo ran; sleep 0.3"))),
    );
    expect(all.map(({ code }) => String(code)).toSorted()).toEqual([
      "0",
      ...Array.from({ length: 7 }, () => "75"),
    ]);
    expect(log(layout)).toBe("ran\n");
  });

  it("a claim whose winner was killed before it left its name stays taken", async () => {
    const layout = attempt();
    mkdirSync(join(layout.run, "claims/m1"), { recursive: true });
    expect((await finish(start(layout, "echo ran"))).code).toBe(75);
    expect(log(layout)).toBe("");
  });

  it("a requeue of the same owner keeps its claim, its log and the earlier result", async () => {
    const layout = attempt();
    const first = start(layout, WAIT_STOP.replaceAll("../STOP", layout.stop), ["--owner", "slurm:7"]);
    await said(layout, "up");
    first.kill("SIGTERM");
    expect((await finish(first)).code).toBe(3);
    const again = await finish(
      start(layout, `[ -e ${layout.stop} ] && exit 9; echo again`, ["--owner", "slurm:7"]),
    );
    expect(again.code).toBe(0);
    expect(log(layout)).toBe("up\nstopping\nagain\n");
    expect(result(layout).exitCode).toBe(0);
    expect(readFileSync(join(layout.folder, "result.1.json"), "utf8")).toContain('"exitCode":3');
    expect((await finish(start(layout, "echo x", ["--owner", "slurm:8"]))).code).toBe(75);
  });

  it("a requeue keeps the stop that a person asked for", async () => {
    const layout = attempt();
    await finish(start(layout, "exit 3", ["--owner", "slurm:7"]));
    writeFileSync(layout.stop, "cancel\n");
    expect((await finish(start(layout, `[ -e ${layout.stop} ]`, ["--owner", "slurm:7"]))).code).toBe(0);
  });

  it("does not start when the fence names another attempt", async () => {
    const layout = attempt();
    writeFileSync(layout.fence, "t2\n");
    expect((await finish(start(layout, "echo ran"))).code).toBe(75);
    expect(readdirSync(layout.run).toSorted()).toEqual(["attempts", "fence"]);
    writeFileSync(layout.fence, "t1");
    expect((await finish(start(layout, "echo ran"))).code).toBe(0);
  });

  it.each(["SIGTERM", "SIGINT", "SIGUSR1"] as const)("%s makes the STOP file and waits", async (signal) => {
    const layout = attempt();
    const child = start(layout, WAIT_STOP.replaceAll("../STOP", layout.stop));
    await said(layout, "up");
    child.kill(signal);
    expect((await finish(child)).code).toBe(3);
    expect(readFileSync(layout.stop, "utf8")).toBe(`signal ${signal.slice(3)}\n`);
    expect(result(layout)).toMatchObject({ exitCode: 3, reason: "exited" });
  });

  it("survives a logout", async () => {
    const layout = attempt();
    const child = start(layout, `echo up; until [ -e ${layout.run}/go ]; do sleep 0.05; done; echo done`);
    await said(layout, "up");
    if (child.pid !== undefined) process.kill(-child.pid, "SIGHUP");
    writeFileSync(join(layout.run, "go"), "");
    expect((await finish(child)).code).toBe(0);
    expect(log(layout)).toBe("up\ndone\n");
  });

  it("passes the second TERM on, and only that one", async () => {
    const layout = attempt();
    const program = `trap 'echo got' TERM; echo up; until [ -e ${layout.run}/go ]; do sleep 0.05; done`;
    const child = start(layout, program);
    await said(layout, "up");
    child.kill("SIGTERM");
    await until(async () => (existsSync(layout.stop) ? true : undefined));
    child.kill("SIGTERM");
    await said(layout, "got");
    child.kill("SIGTERM");
    writeFileSync(join(layout.run, "go"), "");
    expect((await finish(child)).code).toBe(0);
    expect(log(layout)).toBe("up\ngot\n");
  });

  it("ends a program that does not stop within its grace", async () => {
    const layout = attempt();
    const child = start(layout, "echo up; sleep 60", ["--grace", "1"]);
    await said(layout, "up");
    child.kill("SIGTERM");
    await finish(child);
    expect(result(layout)).toMatchObject({ reason: "signalled", signal: "SIGTERM" });
  });

  it("a reader of the result sees nothing or all of it", async () => {
    const layout = attempt();
    const child = finish(start(layout, "exit 1"));
    await until(async () => (existsSync(layout.result) ? true : undefined));
    expect(result(layout).exitCode).toBe(1);
    await child;
    expect(readdirSync(layout.folder).filter((name) => name.endsWith(".tmp"))).toEqual([]);
  });

  it("keeps odd text out of the JSON, and ends the last log line", async () => {
    const layout = attempt();
    const odd = join(layout.run, 'no "such\\python');
    const { code } = await finish(start(layout, "true", ["--python", odd]));
    expect(code).toBe(69);
    expect(result(layout)).toMatchObject({ reason: "node-check", exitCode: 69 });
    expect(result(layout).detail).toContain("does not run or is older than Python 3.10");
    const torn = attempt();
    await finish(start(torn, "printf half"));
    expect(log(torn)).toBe("half\n");
  });

  it("says that an output folder cannot be written", async () => {
    const layout = attempt();
    writeFileSync(layout.output, "a file in its place");
    await finish(start(layout, "true"));
    expect(result(layout)).toMatchObject({ reason: "node-check" });
    expect(result(layout).detail).toContain("cannot be written");
  });

  it.each([
    [["--marker", 'a"b']],
    [["--attempt", "one"]],
    [["--token", "a b"]],
    [["--run", "relative"]],
    [["--unknown", "x"]],
  ])("refuses %j", async (options) => {
    const layout = attempt();
    const { code, said: words } = await finish(start(layout, "true", options));
    expect(code).toBe(64);
    expect(words).toContain("wrapper.sh: ");
    expect(existsSync(layout.result)).toBe(false);
  });
});
