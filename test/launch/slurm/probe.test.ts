import { describe, expect, it } from "vitest";
import { LAB_PROGRAMS, startLab } from "../../real/slurm/lab.ts";
import { realSuite } from "../../support/real-suite.ts";
import { commandsBench } from "./commands-bench.ts";
import { slurmBench } from "./slurm-bench.ts";

const CONFIG = `printf 'AccountingStorageType = accounting_storage/none\\nMinJobAge = 300 sec\\n'`;

describe("a probe", () => {
  it("asks whether a training job of the profile would be taken, with all that it asks for", async () => {
    const refusal = "allocation failure: Requested node configuration is not available";
    const sbatch = `case $1 in --version) echo slurm 22.05.8 ;; *) echo '${refusal}' >&2; exit 1 ;; esac`;
    const bench = await commandsBench({
      profile: { cpusPerTask: 96, memory: "900G", gres: "gpu:h100:8", nodes: 2, account: "ml" },
      programs: { scontrol: CONFIG, sbatch },
    });
    const checks = await bench.launcher.probe();
    expect(checks.find(({ name }) => name === "sbatch --test-only")).toMatchObject({
      outcome: "failed",
      detail: expect.stringContaining("node configuration"),
    });
    const asked = bench.calls("sbatch").find((words) => words.includes("--test-only")) ?? [];
    for (const word of ["--cpus-per-task=96", "--mem=900G", "--gres=gpu:h100:8", "--nodes=2", "--account=ml"])
      expect(asked).toContain(word);
    // The folders of a run that there is not.
    expect(asked.filter((word) => word.includes("/probe"))).toEqual([]);
    await bench.launcher.close();
  });

  const NODES = [
    "gpu|up|1-00:00:00|2|gpu:h100:8(S:0-1),nvme:1|gpu*|96|64000",
    "gpu|up|1-00:00:00|4|(null)|gpu*|16|2000000",
  ];

  it.each([
    [
      { gres: "gpu:a100:1" },
      ["gres gpu:a100:1, the nodes of gpu have gpu:h100:8(S:0-1),nvme:1 or none"],
      ["memory"],
    ],
    [{ gres: "gpu:h100:9" }, ["gres gpu:h100:9, the nodes"], []],
    [{ gres: "gpu:8,nvme:2" }, ["gres gpu:8,nvme:2, the nodes"], []],
    [{ gres: "gpu:8", memory: "2T" }, ["memory 2T, the nodes of gpu have 2000000M at most"], ["gres gpu"]],
    [{ device: "cpu", cpusPerTask: 97 }, ["cpusPerTask 97, the nodes of gpu have 96 at most"], []],
    // Each of them is there, and no node has both.
    [{ gres: "gpu:h100:8", memory: "900G" }, ["gres gpu:h100:8, some nodes", "memory 900G, some nodes"], []],
    // Nothing to be seen: its own words alone.
    [{ gres: "gpu:h100:8", memory: "60G" }, [], ["gres gpu", "memory 60G"]],
  ])("says what of %j no node has", async (profile, said, unsaid) => {
    const sbatch = `case $1 in --version) echo slurm 22.05.8 ;; *) echo 'allocation failure: Requested node configuration is not available' >&2; exit 1 ;; esac`;
    const sinfo = NODES.map((line) => `echo '${line}'`).join("\n");
    const bench = await commandsBench({ profile, programs: { scontrol: CONFIG, sbatch, sinfo } });
    const checks = await bench.launcher.probe();
    expect(checks.find(({ name }) => name === "partition")).toMatchObject({
      outcome: "ok",
      detail: "gpu: 6 nodes, gpu:h100:8(S:0-1),nvme:1 or (null), at most 1-00:00:00",
    });
    const refused = checks.find(({ name }) => name === "sbatch --test-only");
    expect(refused?.outcome).toBe("failed");
    for (const words of said) expect(refused?.detail).toContain(words);
    for (const words of unsaid) expect(refused?.detail).not.toContain(words);
    await bench.launcher.close();
  });
});

realSuite("a probe of a real cluster", { programs: LAB_PROGRAMS, root: true }, () => {
  it("refuses GPUs and memory that no node has, and names them", async () => {
    const lab = await startLab({ accounting: "none" });
    const probe = async (profile: Readonly<Record<string, unknown>>) => {
      const bench = await slurmBench(lab, { profile });
      const checks = await bench.launcher.probe();
      await bench.launcher.close();
      return checks.find(({ name }) => name === "sbatch --test-only");
    };
    try {
      expect(await probe({ gres: "gpu:h100:8", memory: "60G" })).toMatchObject({ outcome: "ok" });
      expect(await probe({ gres: "gpu:a100:1", memory: "900G" })).toMatchObject({
        outcome: "failed",
        detail:
          "allocation failure: Requested node configuration is not available: " +
          "gres gpu:a100:1, the nodes of gpu have gpu:h100:8; memory 900G, the nodes of gpu have 64000M at most",
        hint: expect.stringContaining("gres: and memory: in the profile"),
      });
    } finally {
      await lab.close();
    }
  });
});
