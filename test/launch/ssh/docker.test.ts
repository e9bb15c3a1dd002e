import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { processStatus } from "../../../src/core/process-identity.ts";
import { jobKey, type JobRef, type Observation } from "../../../src/launch/index.ts";
import { Supervisor } from "../../../src/launch/supervisor.ts";
import { attemptOf, endIfThere, fileOf, sweep, temporaryFolder, until } from "../support.ts";
import { localBench, machine, type SshBench } from "./support.ts";

// A docker whose containers are children of nobody here and carry nothing of the job, as the daemon's are. They ignore what their
// client is told, and outlive it.
const DOCKER = `#!/bin/sh
state=STATE
[ ! -f "$state/down" ] || { echo 'Cannot connect to the Docker daemon' >&2; exit 1; }
command=$1
[ "$command" != container ] || { shift; command=$1; }
case $command in
  run)
    while [ "$1" != --name ]; do shift; done
    name=$2
    setsid env -i PATH="$PATH" sh -c 'echo $$ >"$1"; trap "" TERM; while :; do sleep 0.1; done' sh "$state/$name" >/dev/null 2>&1 </dev/null &
    until [ -s "$state/$name" ]; do sleep 0.05; done
    while kill -0 "$(cat "$state/$name" 2>/dev/null || echo none)" 2>/dev/null; do sleep 0.1; done
    exit 137
    ;;
  inspect)
    for name; do :; done
    [ -s "$state/$name" ] || { echo "Error response from daemon: No such container: $name" >&2; exit 1; }
    echo true
    ;;
  ps) ls "$state" ;;
  rm)
    for name; do :; done
    [ -s "$state/$name" ] || exit 0
    kill -9 "$(cat "$state/$name")"
    rm -f "$state/$name"
    ;;
esac
`;

describe("a container on a host", () => {
  const folder = temporaryFolder();
  const state = join(folder.path, "containers");
  const host = machine(folder.path, "one", []);
  const markers: string[] = [];
  let bench: SshBench;
  beforeAll(async () => {
    mkdirSync(state);
    const bin = join(folder.path, "machine-one", "bin");
    writeFileSync(join(bin, "docker"), DOCKER.replace("STATE", `'${state}'`), { mode: 0o755 });
    bench = await localBench(folder.path, {
      machines: [host],
      settings: {
        graceSeconds: 1,
        container: { engine: "docker", image: `example/image@sha256:${"0".repeat(64)}` },
      },
    });
  });
  afterEach(async () => {
    rmSync(join(state, "down"), { force: true });
    for (const marker of markers.splice(0)) {
      await sweep(marker);
      const pid = pidOf(marker);
      if (pid !== undefined) endIfThere(pid);
      rmSync(join(state, marker), { force: true });
    }
  });
  afterAll(() => folder.remove());

  const pidOf = (marker: string): number | undefined =>
    existsSync(join(state, marker)) ? Number(readFileSync(join(state, marker), "utf8")) : undefined;
  const isAlive = async (pid: number): Promise<boolean> => (await processStatus(pid))?.zombie === false;

  const started = async (): Promise<{ ref: JobRef; container: number }> => {
    const job = bench.job([]);
    const { marker } = attemptOf(job);
    markers.push(marker);
    const answer = await bench.launcher.submit(bench.launcher.plan(job, attemptOf(job)));
    const ref = answer.outcome === "accepted" ? answer.refs[0] : undefined;
    if (ref === undefined) throw new Error(JSON.stringify(answer));
    const container = await until(async () => pidOf(marker) || undefined);
    return { ref, container };
  };
  const observe = async (ref: JobRef): Promise<Observation | undefined> =>
    (await bench.launcher.observe([ref])).get(jobKey(ref));
  const seen = async (ref: JobRef, phase: Observation["phase"]): Promise<Observation> =>
    until(async () => {
      const now = await observe(ref);
      return now?.phase === phase && !/^starting|^process |processes run on/.test(now.detail)
        ? now
        : undefined;
    });

  it("is named after the marker, and is gone after `stop --now`", { timeout: 60_000 }, async () => {
    const { ref, container } = await started();
    expect(await bench.launcher.cancel(ref, "now")).toBe("requested");
    expect(await isAlive(container)).toBe(false);
    expect(pidOf(ref.marker)).toBeUndefined();
    expect(await seen(ref, "ended")).toMatchObject({ phase: "ended" });
    expect(await bench.launcher.cancel(ref, "now")).toBe("already-ended");
  });

  it("is gone before a stop that it did not heed counts as ended", { timeout: 60_000 }, async () => {
    const { ref, container } = await started();
    expect(await bench.launcher.cancel(ref, "graceful")).toBe("requested");
    const end = await seen(ref, "ended");
    expect(end).toMatchObject({ result: { marker: ref.marker } });
    expect(await isAlive(container)).toBe(false);
  });

  it("counts as live whatever has been written down of its job", { timeout: 60_000 }, async () => {
    const { ref, container } = await started();
    const { pid } = Supervisor.parse(JSON.parse(await fileOf(ref, "supervisor")));
    process.kill(pid, "SIGKILL");
    await sweep(ref.marker);
    const result = {
      schemaVersion: 1,
      marker: ref.marker,
      exitCode: 137,
      signal: "SIGKILL",
      startedAt: "2026-01-31T10:15:00Z",
      endedAt: "2026-01-31T10:16:00Z",
      host: "one",
      reason: "signalled",
      detail: "",
    };
    writeFileSync(join(ref.folder, "result.json"), JSON.stringify(result));
    expect(await seen(ref, "live")).toMatchObject({
      warning: expect.stringContaining(`container ${ref.marker} runs on`),
    });
    writeFileSync(join(state, "down"), "");
    expect(await observe(ref)).toMatchObject({ phase: "unavailable" });
    rmSync(join(state, "down"));
    endIfThere(container);
    rmSync(join(state, ref.marker));
    expect(await seen(ref, "ended")).toMatchObject({ result: { exitCode: 137 } });
  });

  it(
    "counts as live when everything else of its job was killed, until it is stopped",
    { timeout: 60_000 },
    async () => {
      const { ref, container } = await started();
      const { pid } = Supervisor.parse(JSON.parse(await fileOf(ref, "supervisor")));
      process.kill(pid, "SIGKILL");
      await sweep(ref.marker);
      expect(await seen(ref, "live")).toMatchObject({
        warning: expect.stringContaining(`container ${ref.marker} runs on`),
      });
      writeFileSync(join(state, "down"), "");
      expect(await observe(ref)).toMatchObject({ phase: "unavailable" });
      rmSync(join(state, "down"));
      expect(await bench.launcher.cancel(ref, "now")).toBe("requested");
      expect(await isAlive(container)).toBe(false);
      expect(await seen(ref, "ended")).toMatchObject({ result: null });
    },
  );

  it("of other jobs stays", { timeout: 60_000 }, async () => {
    const [one, other] = [await started(), await started()];
    await bench.launcher.cancel(one.ref, "now");
    expect(await isAlive(one.container)).toBe(false);
    expect(await isAlive(other.container)).toBe(true);
    await bench.launcher.cancel(other.ref, "now");
  });
});
