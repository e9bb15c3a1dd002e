import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

const folder = join(import.meta.dirname, "samples");

/** Names of the captured outputs of Slurm 22.05.8. */
export const sampleNames = (): readonly string[] =>
  readdirSync(folder).filter((name) => name.endsWith(".txt"));

export const sample = (name: string): string => readFileSync(join(folder, name), "utf8");

/** One captured command: what it was, and what it printed. */
export interface Captured {
  readonly command: string;
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** The commands of a file whose lines are marked `[stdout]` and `[stderr]`. */
export const captured = (name: string): readonly Captured[] => {
  const commands: Captured[] = [];
  for (const block of sample(name)
    .split(/^(?=\$ )/m)
    .slice(1)) {
    const [command = "", ...lines] = block.split("\n");
    const of = (stream: string): string[] =>
      lines.filter((line) => line.startsWith(`[${stream}] `)).map((line) => line.slice(stream.length + 3));
    const code = Number(/^rc=(\d+)/m.exec(of("stdout").concat(of("rc")).join("\n"))?.[1] ?? 0);
    const stdout = of("stdout").filter((line) => !line.startsWith("rc="));
    commands.push({
      command: command.slice(2),
      code,
      stdout: stdout.join("\n"),
      stderr: of("stderr").join("\n"),
    });
  }
  return commands;
};
