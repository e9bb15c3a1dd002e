import { availableParallelism } from "node:os";
import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: ["test/**/*.test.ts"],
    setupFiles: ["test/support/fail-on-console.ts"],
    // Most of the long tests wait for other programs (Slurm, sshd, jobs): more of them at once than there are cores.
    maxWorkers: Math.max(4, availableParallelism()),
    testTimeout: 60_000,
    hookTimeout: 120_000,
  },
});
