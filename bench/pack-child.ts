import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

export interface ChildRun {
  readonly seconds: number;
  /** Most memory that was ever resident, as the kernel counted it (VmHWM), in bytes; NaN where there is none to read. */
  readonly peakBytes: number;
  /** Of all its threads. */
  readonly processorSeconds: number;
  readonly stdout: string;
}

// What a process cannot be asked for any more once it has ended; its usage as a child would count its parent's memory.
const LAST_WORD = `process.on("exit", () => {
  const fs = process.getBuiltinModule("node:fs");
  fs.writeFileSync(process.env.UNDERSTUDY_BENCH_STATUS, fs.readFileSync("/proc/self/status"));
  const { user, system } = process.cpuUsage();
  fs.appendFileSync(process.env.UNDERSTUDY_BENCH_STATUS, "Processor: " + (user + system));
});`;

/** Runs the compiled program as a person does, in its own process. Throws with what it said when it fails. */
export const understudy = async (
  words: readonly string[],
  cwd: string,
  root = process.cwd(),
): Promise<ChildRun> => {
  const folder = mkdtempSync(join(tmpdir(), "understudy-child-"));
  const status = join(folder, "status");
  try {
    const start = performance.now();
    const child = spawn(
      process.execPath,
      [
        "--import",
        `data:text/javascript,${encodeURIComponent(LAST_WORD)}`,
        join(root, "bin", "understudy.js"),
        ...words,
      ],
      { cwd, env: { ...process.env, UNDERSTUDY_BENCH_STATUS: status }, stdio: ["ignore", "pipe", "pipe"] },
    );
    let stdout = "";
    let stderr = "";
    child.stdout.on("data", (data: Buffer) => (stdout += data.toString("utf8")));
    child.stderr.on("data", (data: Buffer) => (stderr += data.toString("utf8")));
    const code = await new Promise<number | null>((resolve, reject) => {
      child.on("error", reject);
      child.on("close", resolve);
    });
    const seconds = (performance.now() - start) / 1000;
    if (code !== 0)
      throw new Error(`understudy ${words.join(" ")} ended with ${code}:\n${stdout}\n${stderr}`);
    const said = readFileSync(status, "utf8");
    return {
      seconds,
      peakBytes: Number(/^VmHWM:\s+(\d+) kB$/m.exec(said)?.[1]) * 1024,
      processorSeconds: Number(/^Processor: (\d+)$/m.exec(said)?.[1]) / 1e6,
      stdout,
    };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
};
