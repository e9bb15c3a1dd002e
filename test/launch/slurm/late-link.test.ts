import { execFileSync } from "node:child_process";
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it, vi } from "vitest";
import { systemClock } from "../../../src/core/clock.ts";
import type { Finding } from "../../../src/launch/index.ts";
import { LAB_PROGRAMS, startLab, type SlurmLab } from "../../real/slurm/lab.ts";
import { realSuite } from "../../support/real-suite.ts";
import { attemptOf, slurmBench, type SlurmRef } from "./slurm-bench.ts";

vi.setConfig({ testTimeout: 240_000, hookTimeout: 120_000 });

realSuite("on a cluster without accounts", { programs: LAB_PROGRAMS, root: true }, () => {
  let lab: SlurmLab;
  beforeAll(async () => {
    lab = await startLab({ accounting: "none" });
  });
  afterAll(async () => {
    await lab?.close();
  });

  const cancel = (id: string | undefined): string => lab.run(["scancel", id ?? ""]);
  const refIn = (finding: Finding): SlurmRef => {
    const ref = finding.outcome === "found" ? finding.refs[0] : undefined;
    if (ref?.kind !== "slurm") throw new Error(JSON.stringify(finding));
    return ref;
  };

  it("a link whose sbatch hung is waited for, and is one of the run's jobs when it comes late", async () => {
    const hidden = join(lab.folder, "hidden");
    writeFileSync(hidden, "");
    const folders = [
      lab.shim(
        "sbatch",
        `case "$*" in *"/job.sh 3 3") kill -STOP "$(cat ${lab.folder}/pids/slurmctld)" ;; esac; exec "$REAL" "$@"`,
      ),
      // The controller has not come to it yet.
      lab.shim(
        "squeue",
        `if [ -e ${hidden} ]; then "$REAL" "$@" | grep -v '"link":3'; exit 0; fi; exec "$REAL" "$@"`,
      ),
    ];
    const bench = await slurmBench(lab, {
      profile: { chain: 3 },
      environment: { PATH: [...folders, lab.environment["PATH"]].join(":") },
    });
    const plan = bench.plan(bench.job([["wait-stop"], ["exit", 3]]));
    expect((await bench.launcher.submit(plan)).outcome).toBe("ambiguous");
    lab.resume("slurmctld");
    // Two links are there for all to see, and are not called all.
    await until(
      () =>
        lab
          .run(["squeue", "-h", `--name=${plan.attempt.marker}`, "-o", "%i"])
          .trim()
          .split("\n").length === 3,
    );
    expect(await bench.launcher.find(plan)).toMatchObject({
      outcome: "found",
      refs: [{ jobs: [{ link: 1 }, { link: 2 }] }],
      doubt: expect.stringContaining("its answer is lost"),
    });
    expect((await bench.launcher.submit(plan)).outcome).toBe("ambiguous");
    rmSync(hidden);
    let finding = await bench.launcher.find(plan);
    for (let tries = 0; tries < 300 && isOpen(finding); tries++) {
      await systemClock.sleep(100);
      finding = await bench.launcher.find(plan);
    }
    const ref = refIn(finding);
    expect(ref.jobs.map(({ link }) => link)).toEqual([1, 2, 3]);
    expect(finding).toEqual({ outcome: "found", refs: [ref] });

    // Somebody was told of two links only: the third runs the next attempt, and that is seen and can be stopped.
    const partial: SlurmRef = { ...ref, jobs: ref.jobs.slice(0, 2) };
    await bench.running(partial);
    cancel(ref.jobs[1]?.id);
    cancel(ref.jobs[0]?.id);
    const seen = await bench.ended(partial);
    expect(seen.continues?.refs).toMatchObject([{ jobs: ref.jobs }]);
    const next = seen.continues?.refs[0];
    if (next?.kind !== "slurm") throw new Error("nothing follows");
    await bench.running(next);
    await bench.running({ ...next, jobs: partial.jobs });
    expect(await bench.launcher.cancel({ ...next, jobs: partial.jobs }, "now")).toBe("requested");
    expect(await bench.ended(next)).toMatchObject({ cause: "cancelled" });
    await bench.launcher.close();
  });

  it("a cluster that does not know a node to be avoided takes the job without it", async () => {
    const bench = await slurmBench(lab);
    const job = bench.job([["exit", 0]]);
    const plan = bench.launcher.plan(job, { ...attemptOf(job), excludedNodes: ["taken-away9"] });
    const answer = await bench.launcher.submit(plan);
    expect(answer).toMatchObject({ outcome: "accepted", note: expect.stringContaining("taken-away9") });
    await bench.ended(refIn(await bench.launcher.find(plan)));
    await bench.launcher.close();
  });

  it("a login node with another key, or one that refuses the login, is told at once", async () => {
    const { port } = lab.ssh;
    const key = join(lab.folder, "other-key");
    execFileSync("ssh-keygen", ["-q", "-t", "ed25519", "-N", "", "-f", key]);
    const [type, text] = readFileSync(`${key}.pub`, "utf8").split(" ");
    const knownHosts = join(lab.folder, "other-hosts");
    writeFileSync(knownHosts, `[127.0.0.1]:${port} ${type} ${text}\n`);
    const changed = await slurmBench(lab, { login: true, profile: { knownHosts } });
    const answer = await changed.launcher.submit(changed.plan(changed.job([])));
    expect(answer).toMatchObject({
      outcome: "rejected",
      reason: expect.stringMatching(/has changed.*SHA256:.*SHA256:/),
      hint: expect.stringContaining("ssh-keygen -R"),
    });
    expect(answer).not.toHaveProperty("retry");
    const login = { host: "127.0.0.1", user: "understudy-lab", port, identityFile: key };
    const refused = await slurmBench(lab, { login: true, profile: { login } });
    const second = await refused.launcher.submit(refused.plan(refused.job([])));
    expect(second).toMatchObject({ outcome: "rejected", hint: expect.stringMatching(/./) });
    expect(second).not.toHaveProperty("retry");
    const away = { ...login, port: 1 };
    const silent = await slurmBench(lab, { login: true, profile: { login: away } });
    expect(await silent.launcher.submit(silent.plan(silent.job([])))).toMatchObject({ retry: "unreachable" });
    await Promise.all([changed, refused, silent].map(async (bench) => bench.launcher.close()));
  });

  it("secrets of a running job are in no command line, script, log or answer of Slurm", async () => {
    const planted = ["planted-own-4711", "planted-hub-4712"];
    const bench = await slurmBench(lab, {
      profile: { stage: { model: "node-download", data: "upload" } },
      environment: { PLANTED: planted[0] ?? "", HF_TOKEN: planted[1] ?? "" },
    });
    const model = fetchedModel(join(lab.home, "models/tiny"));
    const base = bench.job([["wait", "go"]], { secrets: ["PLANTED"] });
    const job = { ...base, manifest: { ...base.manifest, model } };
    const plan = bench.plan(job);
    const ref = await bench.submit(job);
    const id = ref.jobs[0]?.id ?? "";
    await bench.running(ref);
    await until(() => textBelow(job.runFolder).includes("the model me/tiny at 0123abcd is there"));
    for (const text of [
      execFileSync("ps", ["-ef", "-ww"], { encoding: "utf8" }),
      commandLines(),
      textBelow(job.runFolder),
      lab.run(["squeue", "-h", "-j", id, "-O", "command:9999,comment:9999,name:999,workdir:999"]),
      lab.run(["scontrol", "-d", "show", "job", id]),
      lab.run(["scontrol", "write", "batch_script", id, "-"]),
      JSON.stringify(plan),
    ]) {
      expect(text.length).toBeGreaterThan(50);
      for (const value of planted) expect(text).not.toContain(value);
    }
    expect(readdirSync(job.runFolder)).not.toContain("secrets");
    bench.touch(job, "go");
    expect(await bench.ended(ref)).toMatchObject({ result: { exitCode: 0 } });
    await bench.launcher.close();
  });
});

const isOpen = (finding: Finding): boolean =>
  finding.outcome === "unavailable" || (finding.outcome === "found" && finding.doubt !== undefined);

async function until(isIt: () => boolean): Promise<void> {
  for (let tries = 0; tries < 600; tries++) {
    if (isIt()) return;
    await systemClock.sleep(100);
  }
  throw new Error("it never happened");
}

/** A model that has been fetched already, so that nobody is asked for it. */
function fetchedModel(path: string): { readonly path: string; readonly revision: string } {
  mkdirSync(path, { recursive: true });
  writeFileSync(join(path, "config.json"), "{}");
  const files = [{ path: "config.json", bytes: 2, sha256: null }];
  const record = { schemaVersion: 1, repository: "me/tiny", revision: "0123abcd", files };
  writeFileSync(join(path, ".understudy-download.json"), JSON.stringify(record));
  return { path, revision: "me/tiny@0123abcd" };
}

function commandLines(): string {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map((pid) => {
      try {
        return readFileSync(`/proc/${pid}/cmdline`, "latin1");
      } catch {
        return "";
      }
    })
    .join("\n");
}

function textBelow(folder: string): string {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => readFileSync(join(entry.parentPath, entry.name), "latin1"))
    .join("\n");
}
