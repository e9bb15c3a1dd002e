import { describe, expect, it } from "vitest";
import { commandsBench } from "./commands-bench.ts";

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
});
