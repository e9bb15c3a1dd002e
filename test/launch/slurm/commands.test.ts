import { existsSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { planText } from "../../../src/launch/index.ts";
import { temporaryFolder } from "../support.ts";
import { commandsBench } from "./commands-bench.ts";

const CONFIG = `printf 'AccountingStorageType = accounting_storage/slurmdbd\\nMinJobAge = 300 sec\\n'`;
const TOKEN = "hf_planted4711";

describe("a model that the node fetches with the hub's token", () => {
  const settings = {
    profile: { chain: 2, stage: { model: "node-download", data: "upload" } },
    environment: { HF_TOKEN: TOKEN },
    programs: { sbatch: "echo 4711", scontrol: CONFIG },
  } as const;

  it("has it in a private file that only the download reads, and nowhere else", async () => {
    const bench = await commandsBench(settings);
    const job = bench.job();
    const plan = bench.plan(job);
    expect(bench.launcher.validate(job).map(({ code }) => code)).not.toContain("CHAIN_WITH_SECRETS");
    expect((await bench.launcher.submit(plan)).outcome).toBe("accepted");
    const file = join(job.runFolder, "secrets/HF_TOKEN");
    expect(readFileSync(file, "utf8")).toBe(TOKEN);
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(statSync(join(job.runFolder, "secrets")).mode & 0o777).toBe(0o700);
    const script = plan.files.find(({ path }) => path.endsWith("/job.sh"))?.text ?? "";
    expect(script).toContain(`--token-folder ${join(job.runFolder, "secrets")}`);
    // Slurm may start it again: only a download that was interrupted would need the token then.
    expect(bench.calls("sbatch")).toHaveLength(2);
    expect(bench.calls("sbatch")[0]).toContain("--requeue");
    for (const text of [JSON.stringify(plan), planText(plan), JSON.stringify(bench.calls())]) {
      expect(text).not.toContain(TOKEN);
    }
  });

  it("does not leave it behind when the job is refused", async () => {
    const refusing =
      "echo 'sbatch: error: Batch job submission failed: Invalid qos specification' >&2; exit 1";
    const bench = await commandsBench({ ...settings, programs: { sbatch: refusing } });
    const job = bench.job();
    expect((await bench.launcher.submit(bench.plan(job))).outcome).toBe("rejected");
    expect(existsSync(join(job.runFolder, "attempts/1/job.sh"))).toBe(true);
    expect(existsSync(join(job.runFolder, "secrets"))).toBe(false);
  });

  it("does not leave it behind when the job is cancelled while it waits", async () => {
    const bench = await commandsBench(settings);
    const job = bench.job();
    const answer = await bench.launcher.submit(bench.plan(job));
    const ref = answer.outcome === "accepted" ? answer.refs[0] : undefined;
    if (ref === undefined) throw new Error("not accepted");
    expect(await bench.launcher.cancel(ref, "graceful")).toBe("requested");
    expect(existsSync(join(job.runFolder, "STOP"))).toBe(true);
    expect(existsSync(join(job.runFolder, "secrets"))).toBe(false);
  });

  it.each([
    ["the model is sent from here", { ...settings, profile: {} }],
    ["there is no token", { ...settings, environment: {} }],
  ])("is sent none when %s", async (_name, changed) => {
    const bench = await commandsBench(changed);
    const job = bench.job();
    expect((await bench.launcher.submit(bench.plan(job))).outcome).toBe("accepted");
    expect(existsSync(join(job.runFolder, "secrets"))).toBe(false);
  });
});

describe("a node to be avoided that the cluster does not know", () => {
  const sbatch = `case "$*" in *gone*) echo 'sbatch: error: Batch job submission failed: Invalid node name specified' >&2; exit 1 ;; esac; echo 4711`;
  const scontrol = `[ "$2" = hostnames ] && echo "$3" | tr , '\\n'`;
  const programs = { sbatch, scontrol, sinfo: "printf 'n3\\nn3\\nn7\\n'" };
  const excluded = (words: readonly string[] | undefined): string | undefined =>
    words?.find((word) => word.startsWith("--exclude="));

  it("is left out, the others stay, whoever named them, and the answer says so", async () => {
    const bench = await commandsBench({ profile: { chain: 2, exclude: ["n7", "gone1"] }, programs });
    const plan = bench.plan(bench.job(), { excludedNodes: ["gone9", "n3"] });
    expect(await bench.launcher.submit(plan)).toMatchObject({
      outcome: "accepted",
      refs: [{ jobs: [{ link: 1 }, { link: 2 }] }],
      note: "not avoided, as the cluster does not know it: gone1, gone9",
    });
    expect(bench.calls("sbatch").map(excluded)).toEqual([
      "--exclude=n7,gone1,gone9,n3",
      "--exclude=n7,n3",
      "--exclude=n7,n3",
    ]);
  });

  it("is the only one: nothing is avoided", async () => {
    const bench = await commandsBench({ profile: { exclude: ["gone1"] }, programs });
    expect(await bench.launcher.submit(bench.plan(bench.job()))).toMatchObject({ outcome: "accepted" });
    expect(bench.calls("sbatch").map(excluded)).toEqual(["--exclude=gone1", undefined]);
  });

  it.each(["exit 1", "echo 'no such thing' >&2"])(
    "while it does not say which (%s), is asked again",
    async (sinfo) => {
      const bench = await commandsBench({
        profile: { exclude: ["gone1"] },
        programs: { ...programs, sinfo },
      });
      const plan = bench.plan(bench.job());
      expect(await bench.launcher.submit(plan)).toMatchObject({
        outcome: "rejected",
        reason: expect.stringContaining("Invalid node name"),
        retry: "unreachable",
      });
      expect(bench.calls("sbatch")).toHaveLength(1);
    },
  );

  it("is an error when another name than these is meant", async () => {
    const refusing =
      "echo 'sbatch: error: Batch job submission failed: Invalid node name specified' >&2; exit 1";
    const bench = await commandsBench({
      profile: { exclude: ["n3"], extra: ["--nodelist=gone1"] },
      programs: { ...programs, sbatch: refusing },
    });
    const answer = await bench.launcher.submit(bench.plan(bench.job()));
    expect(answer).toEqual({
      outcome: "rejected",
      reason: "Batch job submission failed: Invalid node name specified",
    });
    expect(bench.calls("sbatch")).toHaveLength(1);
  });
});

describe("a way to the login node that a person has to mend", () => {
  it("is told at once, and never tried again by itself", async () => {
    const sshConfig = join(temporaryFolder().path, "config");
    writeFileSync(sshConfig, "Host login9\n  ProxyCommand nc %h %p\n");
    const bench = await commandsBench({
      profile: { login: { host: "login9" }, transport: "ssh2", sshConfig },
    });
    const answer = await bench.launcher.submit(bench.plan(bench.job()));
    expect(answer).toMatchObject({
      outcome: "rejected",
      reason: expect.stringContaining("ProxyCommand"),
      hint: expect.stringContaining("transport: openssh"),
    });
    expect(answer).not.toHaveProperty("retry");
  });
});

describe("a submission that is stopped here", () => {
  it("ends with the reason of its signal, before anything is submitted", async () => {
    const controller = new AbortController();
    const bench = await commandsBench({
      profile: { stage: { model: "node-download", data: "upload" } },
      environment: { HF_TOKEN: TOKEN },
      programs: { sbatch: "echo 4711" },
      signal: controller.signal,
    });
    const job = bench.job();
    controller.abort(new Error("Ctrl-C"));
    await expect(bench.launcher.submit(bench.plan(job))).rejects.toThrow("Ctrl-C");
    expect(bench.calls("sbatch")).toEqual([]);
    expect(existsSync(join(job.runFolder, "secrets"))).toBe(false);
  });
});

describe("a job of a cluster of a federation", () => {
  it("is asked for, and cancelled, there", async () => {
    const bench = await commandsBench({
      profile: { extra: ["--clusters=gpu2"], pollSeconds: 1 },
      programs: { sbatch: "echo '4711;gpu2'", scontrol: CONFIG },
    });
    const plan = bench.plan(bench.job());
    const answer = await bench.launcher.submit(plan);
    if (answer.outcome !== "accepted") throw new Error(JSON.stringify(answer));
    const [ref] = answer.refs;
    if (ref?.kind !== "slurm") throw new Error("no ref");
    expect(ref).toMatchObject({ cluster: "gpu2", jobs: [{ id: "4711", link: 1 }] });
    await bench.launcher.observe([ref]);
    await bench.launcher.cancel(ref, "now");
    // What the signal means that is to come from Slurm.
    expect(readFileSync(join(plan.cwd, "../../STOP"), "utf8")).toBe("now\n");
    for (const program of ["squeue", "sacct", "scancel"] as const) {
      const calls = bench.calls(program);
      expect(calls.length).toBeGreaterThan(0);
      for (const words of calls) expect(words.slice(1, 3)).toEqual(["-M", "gpu2"]);
    }
    const scontrol = bench.calls("scontrol");
    expect(scontrol.length).toBeGreaterThan(0);
    for (const words of scontrol) expect(words).toContain("--cluster=gpu2");
  });
});

describe("any number of questions within one poll", () => {
  it("cost one squeue and one sacct, whoever asks", async () => {
    const bench = await commandsBench({ programs: { scontrol: CONFIG, sbatch: "echo slurm 22.05.8" } });
    const plans = Array.from({ length: 5 }, () => bench.plan(bench.job()));
    for (const plan of plans) expect(await bench.launcher.find(plan)).toEqual({ outcome: "none" });
    expect(bench.calls("squeue")).toHaveLength(1);
    expect(bench.calls("sacct")).toHaveLength(1);
    expect(bench.calls("sacct")[0]).toContain(`--user=${process.getuid?.() ?? 0}`);
    for (const [index, plan] of plans.entries()) {
      const ref = {
        kind: "slurm" as const,
        marker: plan.attempt.marker,
        folder: plan.cwd,
        cluster: null,
        jobs: [{ id: String(4711 + index), link: 1 }],
        submittedAt: 0,
      };
      expect(await bench.launcher.cancel(ref, "graceful")).toBe("requested");
    }
    expect(bench.calls("scancel").length).toBeGreaterThanOrEqual(plans.length);
    expect(bench.calls("squeue")).toHaveLength(1);
  });
});

describe("a stop of a chain", () => {
  it("also ends a link that its submission has not heard of", async () => {
    const marker = "us-run-1-a1";
    const comment = JSON.stringify({ marker, link: 3 });
    const row = `4799|RUNNING|n1|0|${Math.floor(Date.now() / 1000)}|0|0|None|${marker}|${comment}`;
    const bench = await commandsBench({ programs: { scontrol: CONFIG, squeue: `echo '${row}'` } });
    const { cwd } = bench.plan(bench.job());
    const jobs = [1, 2].map((link) => ({ id: String(4710 + link), link }));
    await bench.launcher.cancel(
      { kind: "slurm", marker, folder: cwd, cluster: null, jobs, submittedAt: Date.now() },
      "now",
    );
    expect(bench.calls("scancel")).toEqual([["scancel", "4711", "4712", "4799"]]);
  });
});
