import { spawn, type ChildProcess } from "node:child_process";
import {
  CreateLogGroupCommand,
  CreateLogStreamCommand,
  PutLogEventsCommand,
  CloudWatchLogsClient,
} from "@aws-sdk/client-cloudwatch-logs";
import type { Channel, CreateTrainingJobRequest } from "@aws-sdk/client-sagemaker";
import { existsSync } from "node:fs";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { z } from "zod";
import { systemClock } from "../../../src/core/clock.ts";
import { CREDENTIALS, partsOf, REGION, type ServiceBucket } from "./bucket-sync.ts";

const GROUP = "/aws/sagemaker/TrainingJobs";
const BEAT = 50;
const ChannelList = z.tuple([z.object({ prefix: z.string() })], z.string());

/** Parts of this machine that stand for an image of ours. */
export interface Image {
  readonly python: string;
  /** Folder that holds `understudy_payload`. */
  readonly payload: string;
  readonly environment?: Readonly<Record<string, string>>;
}

const IN_IMAGE = "/opt/understudy/env/bin/python";

export interface ContainerWorld {
  readonly folder: string;
  readonly python: string;
  readonly moto: string;
  readonly bucket: ServiceBucket;
  /** What an image of ours brings: an environment in /opt/understudy/env with the payload in it. */
  readonly image?: Image | undefined;
  /** Whether files of the checkpoint folder are copied to the bucket right now. */
  readonly copies: () => boolean;
}

/** One container of a training job: `/opt/ml` in a folder of this machine, its program, its log, its copies. */
export interface Container {
  readonly root: string;
  readonly ended: Promise<{ readonly code: number; readonly failure: string }>;
  /** As the service does: TERM to the program, and nothing else for 120 seconds. */
  term(): void;
  /** As a machine that is gone: nothing more is copied. */
  destroy(): void;
}

export const startContainer = async (
  request: CreateTrainingJobRequest,
  world: ContainerWorld,
): Promise<Container> => {
  const root = join(world.folder, "opt-ml");
  await layOut(request, root, world);
  const child = await startProgram(request, root, world);
  let destroyed = false;
  const ended = supervise({ child, request, root, world, isDestroyed: () => destroyed });
  const kill = (signal: NodeJS.Signals, group: boolean): void => {
    if (child.pid === undefined) return;
    try {
      process.kill(group ? -child.pid : child.pid, signal);
    } catch {
      // It has ended.
    }
  };
  return {
    root,
    ended,
    term: () => kill("SIGTERM", false),
    destroy: () => {
      destroyed = true;
      kill("SIGKILL", true);
    },
  };
};

async function layOut(
  request: CreateTrainingJobRequest,
  root: string,
  { bucket }: ContainerWorld,
): Promise<void> {
  const config = { current_host: "algo-1", hosts: ["algo-1"] };
  await mkdir(join(root, "input/config"), { recursive: true });
  await mkdir(join(root, "output"), { recursive: true });
  await mkdir(join(root, "checkpoints"), { recursive: true });
  await writeFile(join(root, "input/config/resourceconfig.json"), JSON.stringify(config));
  for (const channel of request.InputDataConfig ?? []) await bring(channel, root, bucket);
  await bucket.down(request.CheckpointConfig?.S3Uri ?? "", join(root, "checkpoints"));
}

async function bring(channel: Channel, root: string, bucket: ServiceBucket): Promise<void> {
  const folder = join(root, "input/data", channel.ChannelName ?? "");
  await mkdir(folder, { recursive: true });
  const { S3DataType, S3Uri = "" } = channel.DataSource?.S3DataSource ?? {};
  if (S3DataType === "S3Prefix") return bucket.down(S3Uri, folder);
  if (S3DataType !== "ManifestFile") return;
  const list = partsOf(S3Uri);
  const [{ prefix }, ...names] = ChannelList.parse(JSON.parse(await bucket.text(list.bucket, list.key)));
  const from = partsOf(prefix);
  for (const name of names) {
    const path = join(folder, name);
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, await bucket.text(from.bucket, from.key + name));
  }
}

async function startProgram(
  request: CreateTrainingJobRequest,
  root: string,
  { python, moto, folder, image }: ContainerWorld,
): Promise<ChildProcess> {
  const bin = join(folder, "bin");
  await mkdir(bin, { recursive: true });
  const starter = `#!/bin/sh\nexec '${image?.python ?? python}' "$@"\n`;
  await writeFile(join(bin, "python3"), starter, { mode: 0o755 });
  const inside = (text: string): string => text.replaceAll("/opt/ml/", `${root}/`);
  const { ContainerEntrypoint = [], ContainerArguments = [] } = request.AlgorithmSpecification ?? {};
  const [program = "", ...args] = [...ContainerEntrypoint, ...ContainerArguments].map(inside);
  const environment = Object.entries(request.Environment ?? {}).map(([name, value]) => [name, inside(value)]);
  const isPython = program === "python3" || program === IN_IMAGE;
  return spawn(isPython ? join(bin, "python3") : program, args, {
    cwd: root,
    detached: true,
    stdio: ["ignore", "pipe", "pipe"],
    env: {
      PATH: `${bin}:/usr/bin:/bin`,
      // The role of the job.
      AWS_ACCESS_KEY_ID: CREDENTIALS.accessKeyId,
      AWS_SECRET_ACCESS_KEY: CREDENTIALS.secretAccessKey,
      AWS_DEFAULT_REGION: REGION,
      AWS_ENDPOINT_URL: moto,
      UNDERSTUDY_OPT_ML: root,
      UNDERSTUDY_FENCE_SECONDS: "0.2",
      ...(image === undefined ? {} : { PYTHONPATH: image.payload, ...image.environment }),
      ...Object.fromEntries(environment),
    },
  });
}

async function supervise(what: {
  readonly child: ChildProcess;
  readonly request: CreateTrainingJobRequest;
  readonly root: string;
  readonly world: ContainerWorld;
  readonly isDestroyed: () => boolean;
}): Promise<{ readonly code: number; readonly failure: string }> {
  const { child, request, root, world, isDestroyed } = what;
  const exited = new Promise<number>((done) => {
    child.once("error", () => done(127));
    child.once("exit", (code) => done(code ?? 137));
  });
  const log = await openLog(request.TrainingJobName ?? "", world.moto);
  let text = "";
  for (const stream of [child.stdout, child.stderr])
    stream?.on("data", (data: Buffer) => (text += data.toString("utf8")));
  const known = new Map<string, string>();
  const beat = async (final: boolean): Promise<void> => {
    const cut = final ? text.length : text.lastIndexOf("\n") + 1;
    const lines = text.slice(0, cut);
    text = text.slice(cut);
    if (lines !== "") await log(lines.replace(/\n$/, "").split("\n"));
    if (world.copies() && !isDestroyed())
      await world.bucket.up(join(root, "checkpoints"), request.CheckpointConfig?.S3Uri ?? "", known);
  };
  const end: { code?: number } = {};
  void exited.then((value) => (end.code = value));
  while (end.code === undefined) {
    await beat(false);
    await systemClock.sleep(BEAT);
  }
  const { code } = end;
  // What the program has printed last is on its way still.
  await systemClock.sleep(BEAT);
  await beat(true);
  const failure = join(root, "output/failure");
  return { code, failure: existsSync(failure) ? (await readFile(failure, "utf8")).trim() : "" };
}

async function openLog(job: string, endpoint: string): Promise<(lines: readonly string[]) => Promise<void>> {
  const client = new CloudWatchLogsClient({ endpoint, region: REGION, credentials: CREDENTIALS });
  const names = { logGroupName: GROUP, logStreamName: `${job}/algo-1-${systemClock.now()}` };
  await client.send(new CreateLogGroupCommand({ logGroupName: GROUP })).catch(() => undefined);
  let isMade = false;
  return async (lines) => {
    if (!isMade) await client.send(new CreateLogStreamCommand(names));
    isMade = true;
    const timestamp = systemClock.now();
    const logEvents = lines.map((message) => ({ timestamp, message: message === "" ? " " : message }));
    await client.send(new PutLogEventsCommand({ ...names, logEvents }));
  };
}
