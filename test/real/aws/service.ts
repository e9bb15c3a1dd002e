import type { CreateTrainingJobRequest } from "@aws-sdk/client-sagemaker";
import { existsSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import { systemClock } from "../../../src/core/clock.ts";
import { REGION, serviceBucket, type ServiceBucket } from "./bucket-sync.ts";
import { startContainer, type Container, type Image } from "./container.ts";
import { startMoto } from "./moto.ts";
import { description, isLive, listing, nameIn, type Words } from "./answers.ts";
import { json, refused, startProxy, type Call, type Proxy, type Reply } from "./proxy.ts";

interface Job {
  readonly request: CreateTrainingJobRequest;
  readonly createdAt: number;
  words: Words;
  modifiedAt: number;
  container: Container | undefined;
  stopped: boolean;
  containers: number;
}

/** SageMaker on this machine: moto keeps jobs, objects and logs; this plays the part that runs containers. */
export interface Service {
  readonly url: string;
  readonly proxy: Proxy;
  readonly bucket: ServiceBucket;
  /** Names of the jobs in the order in which they were made. */
  readonly jobs: () => readonly string[];
  /** What a job was asked for with. */
  readonly request: (job: string) => CreateTrainingJobRequest;
  /** Sets what is said of a job; for states that no container here brings about. */
  say(job: string, words: Words): void;
  /** Takes the spot instance back, and gives another. `hard`: without a word to the program. */
  interrupt(job: string, hard?: boolean): Promise<void>;
  /** The folder of the job's container, once it is there. */
  root(job: string): Promise<string>;
  /** Resolves when the program of the job's newest container has begun, or has ended. */
  begun(job: string): Promise<void>;
  /** Keeps a secret and returns its ARN. */
  secret(name: string, value: string): Promise<string>;
  /** Whether checkpoints are copied to the bucket. */
  copies: boolean;
  /** Whether made jobs get a container. */
  runs: boolean;
  close(): Promise<void>;
}

export const startService = async (python: string, folder: string, image?: Image): Promise<Service> => {
  const moto = await startMoto(python);
  const bucket = serviceBucket(moto.url);
  const jobs = new Map<string, Job>();
  const work = new Set<Promise<void>>();
  const settings = { copies: true, runs: true };

  const say = (name: string, words: Words): void => {
    const job = jobs.get(name);
    if (job === undefined) throw new Error(`no job ${name}`);
    job.words = words;
    job.modifiedAt = systemClock.now();
  };
  const begin = async (name: string, job: Job): Promise<void> => {
    if (job.stopped) return say(name, { status: "Stopped", secondary: "Stopped" });
    job.containers += 1;
    const place = join(folder, "containers", `${name}-${job.containers}`);
    mkdirSync(place, { recursive: true });
    const world = { folder: place, python, moto: moto.url, bucket, image, copies: () => settings.copies };
    const container = await startContainer(job.request, world);
    job.container = container;
    if (job.stopped) container.term();
    else say(name, { status: "InProgress", secondary: "Training" });
    const { code, failure } = await container.ended;
    // Another container has taken its place, or a test has had the last word.
    if (job.container !== container || !isLive(job) || job.words.secondary === "Interrupted") return;
    if (job.stopped) say(name, { status: "Stopped", secondary: "Stopped" });
    else if (code === 0) say(name, { status: "Completed", secondary: "Completed" });
    else {
      const words = failure === "" ? "" : `, ErrorMessage "${failure}"`;
      say(name, {
        status: "Failed",
        secondary: "Failed",
        failure: `AlgorithmError: ${words}, exit code: ${code}`,
      });
    }
  };
  const inBackground = (name: string, job: Job): void => {
    const task: Promise<void> = begin(name, job)
      .catch((error: unknown) =>
        say(name, {
          status: "Failed",
          secondary: "Failed",
          failure: `InternalServerError: ${String(error)}`,
        }),
      )
      .finally(() => work.delete(task));
    work.add(task);
  };

  const create = async (call: Call): Promise<Reply> => {
    const request = requestIn(call);
    const name = nameIn(call);
    if (jobs.has(name))
      return refused(400, "ResourceInUse", `Training job names must be unique. ${name} exists already`);
    const now = systemClock.now();
    const words = { status: "InProgress", secondary: "Starting" };
    // Before it is forwarded: of two that come at once, the second is refused.
    const job: Job = {
      request,
      createdAt: now,
      modifiedAt: now,
      words,
      container: undefined,
      stopped: false,
      containers: 0,
    };
    jobs.set(name, job);
    const reply = await call.forward();
    if (reply.status === 200 && settings.runs) inBackground(name, job);
    return reply;
  };
  const describe = async (call: Call): Promise<Reply> => {
    const reply = await call.forward();
    const job = jobs.get(nameIn(call));
    return reply.status === 200 && job !== undefined ? description(reply, job) : reply;
  };
  const stop = (call: Call): Reply => {
    const name = nameIn(call);
    const job = jobs.get(name);
    if (job === undefined) return refused(400, "ValidationException", `Requested resource not found.`);
    if (!isLive(job))
      return refused(
        400,
        "ValidationException",
        `The request was rejected because the training job is in status ${job.words.status}.`,
      );
    job.stopped = true;
    say(name, { status: "Stopping", secondary: "Stopping" });
    job.container?.term();
    return json({});
  };

  const proxy = await startProxy(moto.url, async (call) => {
    switch (call.target) {
      case "SageMaker.CreateTrainingJob":
        return create(call);
      case "SageMaker.DescribeTrainingJob":
        return describe(call);
      case "SageMaker.ListTrainingJobs":
        return listing(call, jobs);
      case "SageMaker.StopTrainingJob":
        return stop(call);
      default:
        return undefined;
    }
  });
  const containerOf = async (name: string): Promise<Container> => {
    for (let tries = 0; tries < 1000; tries++) {
      const container = jobs.get(name)?.container;
      if (container !== undefined) return container;
      await systemClock.sleep(20);
    }
    throw new Error(`${name} never had a container`);
  };
  return {
    url: proxy.url,
    proxy,
    bucket,
    jobs: () => [...jobs.keys()],
    request: (name) => {
      const job = jobs.get(name);
      if (job === undefined) throw new Error(`no job ${name}`);
      return job.request;
    },
    say,
    begun: async (name) => {
      const { root, ended } = await containerOf(name);
      const attempts = join(root, "checkpoints/attempts");
      const hasLog = (): boolean =>
        readdirSync(attempts).some((one) => existsSync(join(attempts, one, "log.txt")));
      const end = { over: false };
      void ended.then(() => (end.over = true));
      while (!end.over && !(existsSync(attempts) && hasLog())) await systemClock.sleep(20);
    },
    secret: async (name, value) => {
      const response = await fetch(moto.url, {
        method: "POST",
        headers: {
          "content-type": "application/x-amz-json-1.1",
          "x-amz-target": "secretsmanager.CreateSecret",
          authorization: `AWS4-HMAC-SHA256 Credential=test/20260101/${REGION}/secretsmanager/aws4_request, SignedHeaders=host, Signature=0`,
        },
        body: JSON.stringify({ Name: name, SecretString: value, ClientRequestToken: "0".repeat(36) }),
      });
      return z.object({ ARN: z.string() }).parse(await response.json()).ARN;
    },
    root: async (name) => (await containerOf(name)).root,
    interrupt: async (name, hard = false) => {
      const container = await containerOf(name);
      const job = jobs.get(name);
      if (job === undefined) throw new Error(`no job ${name}`);
      say(name, { status: "InProgress", secondary: "Interrupted", message: "Instance was reclaimed" });
      if (hard) container.destroy();
      else container.term();
      await container.ended;
      container.destroy();
      inBackground(name, job);
    },
    get copies() {
      return settings.copies;
    },
    set copies(value: boolean) {
      settings.copies = value;
    },
    get runs() {
      return settings.runs;
    },
    set runs(value: boolean) {
      settings.runs = value;
    },
    close: async () => {
      for (const { container } of jobs.values()) container?.destroy();
      await Promise.all(work);
      await proxy.close();
      await moto.close();
    },
  };
};

/** Makes an empty file in the run's folder of a container, for stand-ins that wait for it. */
export const touch = async (service: Service, job: string, name: string): Promise<void> => {
  const folder = join(await service.root(job), "checkpoints");
  if (!existsSync(folder)) throw new Error(`no ${folder}`);
  writeFileSync(join(folder, name), "");
};

// The server behind has judged it.
function requestIn(call: Call): CreateTrainingJobRequest {
  const request: CreateTrainingJobRequest = JSON.parse(call.body.toString());
  return request;
}
