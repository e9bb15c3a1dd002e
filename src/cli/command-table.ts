import type { Command } from "./command.ts";

/** One line of `understudy --help`. The table is light: a command's own module is loaded when the command is used. */
export interface CommandEntry {
  /** Words and positionals: `recipe check <file>`. */
  readonly usage: string;
  readonly summary: string;
  readonly load: () => Promise<Command>;
}

/** All commands; the order of nouns is that of the work, verbs stand in the order they are needed. */
export const COMMANDS: readonly CommandEntry[] = [
  {
    usage: "quickstart",
    summary: "Sample corpus, training, evaluation and report on this machine",
    load: async () => (await import("./commands/quickstart.ts")).quickstartCommand,
  },
  {
    usage: "doctor",
    summary: "Check this machine, and with --on a profile's machine",
    load: async () => (await import("./commands/doctor.ts")).doctorCommand,
  },
  {
    usage: "dataset import <folder> <name>",
    summary: "Make a spec and role manifest for a corpus",
    load: async () => (await import("./commands/dataset/import.ts")).datasetImport,
  },
  {
    usage: "dataset import-completions <folder> <output>",
    summary: "Turn raw completions of a model into role files",
    load: async () => (await import("./commands/dataset/import-completions.ts")).datasetImportCompletions,
  },
  {
    usage: "dataset pack <name>",
    summary: "Pack a corpus into checked Parquet shards and a lock",
    load: async () => (await import("./commands/dataset/pack.ts")).datasetPack,
  },
  {
    usage: "dataset check <name>",
    summary: "Verify the packed shards against the lock",
    load: async () => (await import("./commands/dataset/check.ts")).datasetCheck,
  },
  {
    usage: "dataset show <name>",
    summary: "Show roles, splits and what was dropped",
    load: async () => (await import("./commands/dataset/show.ts")).datasetShow,
  },
  {
    usage: "dataset push <name> <repo>",
    summary: "Publish a packed data set on the Hugging Face Hub",
    load: async () => (await import("./commands/dataset/push.ts")).datasetPush,
  },
  {
    usage: "dataset pull <repo>",
    summary: "Fetch a published data set from the Hugging Face Hub",
    load: async () => (await import("./commands/dataset/pull.ts")).datasetPull,
  },
  {
    usage: "recipe check <file>",
    summary: "Check a recipe and count its steps and evaluations",
    load: async () => (await import("./commands/recipe/check.ts")).recipeCheck,
  },
  {
    usage: "recipe explain <file>",
    summary: "Show every value of a recipe and where it comes from",
    load: async () => (await import("./commands/recipe/explain.ts")).recipeExplain,
  },
  {
    usage: "recipe schema",
    summary: "Print the JSON Schema that editors use, or write all schemas",
    load: async () => (await import("./commands/recipe/schema.ts")).recipeSchema,
  },
  {
    usage: "run start <recipe>",
    summary: "Check, plan and start a training run",
    load: async () => (await import("./commands/run/start.ts")).runStart,
  },
  {
    usage: "run list",
    summary: "List runs, their state and what happens next",
    load: async () => (await import("./commands/run/list.ts")).runList,
  },
  {
    usage: "run show <run>",
    summary: "Show one run with its attempts and dev losses",
    load: async () => (await import("./commands/run/show.ts")).runShow,
  },
  {
    usage: "run logs <run>",
    summary: "Print what the program printed; -f watches the run",
    load: async () => (await import("./commands/run/logs.ts")).runLogsCommand,
  },
  {
    usage: "run watch [run..]",
    summary: "Look after runs until they end: all, or those named",
    load: async () => (await import("./commands/run/watch.ts")).runWatch,
  },
  {
    usage: "run stop <run>",
    summary: "Save a checkpoint and stop",
    load: async () => (await import("./commands/run/stop.ts")).runStop,
  },
  {
    usage: "run resume <run>",
    summary: "Go on from the newest complete checkpoint",
    load: async () => (await import("./commands/run/resume.ts")).runResume,
  },
  {
    usage: "run settle <run>",
    summary: "Decide by hand what became of a lost run",
    load: async () => (await import("./commands/run/settle.ts")).runSettle,
  },
  {
    usage: "checkpoint list <run>",
    summary: "List complete checkpoints with their dev loss",
    load: async () => (await import("./commands/checkpoint/list.ts")).checkpointList,
  },
  {
    usage: "checkpoint verify <checkpoint>",
    summary: "Compare a checkpoint's files with what was written",
    load: async () => (await import("./commands/checkpoint/verify.ts")).checkpointVerify,
  },
  {
    usage: "eval start <run>",
    summary: "Score, answer and measure the test roles, then report",
    load: async () => (await import("./commands/eval/start.ts")).evalStart,
  },
  {
    usage: "report build <run>",
    summary: "Write the report of an evaluated run anew",
    load: async () => (await import("./commands/report/build.ts")).reportBuild,
  },
  {
    usage: "completion [shell]",
    summary: "Print a completion script for bash or zsh",
    load: async () => (await import("./commands/completion.ts")).completion,
  },
];

/** `["recipe", "check"]` of an entry. */
export const wordsOf = (entry: CommandEntry): string[] =>
  entry.usage.split(" ").filter((word) => /^[a-z]/.test(word));

/** `["file"]`: names of the positionals in an entry's usage. */
export const positionalsOf = (entry: CommandEntry): string[] =>
  entry.usage
    .split(" ")
    .filter((word) => !/^[a-z]/.test(word))
    .map((word) => word.replaceAll(/[^A-Za-z]/g, ""));
