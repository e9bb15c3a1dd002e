import { CloudWatchLogsClient, FilterLogEventsCommand } from "@aws-sdk/client-cloudwatch-logs";
import { mkdtempSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { systemClock } from "../../../src/core/clock.ts";
import { sha256 } from "../../../src/core/hash.ts";
import { jobKey, planText } from "../../../src/launch/index.ts";
import { packOnce } from "../../workflow/data-stage.ts";
import { CREDENTIALS, REGION } from "../../real/aws/bucket-sync.ts";
import { dyingProgram } from "../../real/aws/dying.ts";
import { awsSuite } from "../../real/aws/moto.ts";
import type { Service } from "../../real/aws/service.ts";
import { BUCKET, makeAwsStage, START } from "../../real/aws/stage.ts";
import { attemptOf, until } from "../support.ts";
import { accepted, awsBench } from "./support.ts";

packOnce();

// What a person's shell may hold.
const PLANTED = {
  HF_TOKEN: "planted-hf-token-1001",
  MLFLOW_TRACKING_PASSWORD: "planted-mlflow-password-1002",
  OPENAI_API_KEY: "planted-openai-key-1003",
  GEMINI_API_KEY: "planted-gemini-key-1004",
};
const SECRETS = [CREDENTIALS.secretAccessKey, ...Object.values(PLANTED)];

/** The argument vectors of all processes, as `ps` shows them. */
const processes = (): string =>
  readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map((pid) => {
      try {
        return readFileSync(`/proc/${pid}/cmdline`, "utf8").replaceAll("\0", " ");
      } catch {
        return "";
      }
    })
    .join("\n");

/** Everything that \`ps\` has shown while something ran. */
const watched = async <Result>(work: Promise<Result>): Promise<{ result: Result; seen: string }> => {
  const seen = new Set<string>();
  const over = { yet: false };
  const looking = (async (): Promise<void> => {
    for (; !over.yet; await systemClock.sleep(20)) for (const line of processes().split("\n")) seen.add(line);
  })();
  try {
    return { result: await work, seen: [...seen].join("\n") };
  } finally {
    over.yet = true;
    await looking;
  }
};

const objects = async ({ bucket }: Service): Promise<string> => {
  const keys = await bucket.list(BUCKET, "");
  const texts = await Promise.all(keys.map(async (key) => `${key}\n${await bucket.text(BUCKET, key)}`));
  return texts.join("\n");
};

const cloudWatch = async ({ url }: Service): Promise<string> => {
  const client = new CloudWatchLogsClient({ endpoint: url, region: REGION, credentials: CREDENTIALS });
  const logGroupName = "/aws/sagemaker/TrainingJobs";
  const { events = [] } = await client.send(new FilterLogEventsCommand({ logGroupName, limit: 10_000 }));
  client.destroy();
  return events.map(({ message = "" }) => message).join("\n");
};

const files = (folder: string): string =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => {
      const path = join(entry.parentPath, entry.name);
      return `${path}\n${readFileSync(path, "latin1")}`;
    })
    .join("\n");

/** Each place holds what shows that it was searched, and no secret. */
const clean = (
  places: Readonly<Record<string, readonly [text: string, shown: string]>>,
  secrets: readonly string[],
): void => {
  for (const [place, [text, shown]] of Object.entries(places)) {
    expect(text.includes(shown), `${shown} in ${place}`).toBe(true);
    for (const secret of secrets) expect(text.includes(secret), `${secret} in ${place}`).toBe(false);
  }
};

awsSuite("a secret on the way to SageMaker", (python) => {
  it(
    "of the shell is in no request, dry run, object, log, database or argument",
    { timeout: 300_000 },
    async () => {
      const { stage, service, environment } = await makeAwsStage(python, "", PLANTED);
      const { root, state } = stage.project;
      const program = dyingProgram(mkdtempSync(join(root, "program-")));
      const run = async (words: readonly string[]): ReturnType<typeof program> =>
        program(words, null, { cwd: root, environment });
      const dry = await run([...START, "--on", "cloud", "--dry-run"]);
      expect(dry.end).toBe(0);
      const started = await watched(run([...START, "--on", "cloud", "-f", "--json"]));
      const { run: made }: { run: { id: string } } = JSON.parse(started.result.stdout);
      const evaluated = await watched(run(["eval", "start", made.id]));
      expect(evaluated.result.end).toBe(0);
      const shown = await run(["run", "show", made.id, "--json"]);
      const logs = await run(["run", "logs", made.id]);
      const said = [started.result, evaluated.result, shown, logs].map(
        ({ stdout, stderr }) => stdout + stderr,
      );
      clean(
        {
          "the dry run": [dry.stdout + dry.stderr, "TrainingJobName"],
          "the requests": [service.proxy.seen.map(({ text }) => text).join("\n"), `us-${made.id}-score-1-a1`],
          "the bucket": [await objects(service), `runs/${made.id}/attempts/1/job.template.json`],
          "the provider's log": [await cloudWatch(service), "attempt 1 step 4"],
          "the program's words": [said.join("\n"), "attempt 1 step 4"],
          "the database and what lies beside it": [files(state), made.id],
          "the arguments": [started.seen + evaluated.seen, "understudy_payload.sagemaker"],
        },
        SECRETS,
      );
    },
  );

  it("of Secrets Manager reaches the program, and nothing else", { timeout: 120_000 }, async () => {
    const bench = await awsBench(python);
    try {
      const value = "planted-secret-of-the-job-2001";
      const arn = await bench.service.secret("planted-2001", value);
      const launcher = await bench.another({ secrets: { PLANTED_SECRET: arn } });
      const job = bench.job([["say", "up"], ["wait-stop"]], { secrets: ["PLANTED_SECRET"] });
      const plan = launcher.plan(job, attemptOf(job));
      const running = await watched(
        (async () => {
          const ref = await accepted(launcher, plan);
          await until(async () =>
            (await cloudWatch(bench.service).catch(() => "")).includes(sha256(value)) ? true : undefined,
          );
          await launcher.cancel(ref, "now");
          await until(async () => {
            const seen = (await launcher.observe([ref])).get(jobKey(ref));
            return seen?.phase === "ended" ? true : undefined;
          });
          return ref;
        })(),
      );
      clean(
        {
          "the plan": [planText(plan) + JSON.stringify(plan), arn],
          "the requests": [bench.service.proxy.seen.map(({ text }) => text).join("\n"), arn],
          "the bucket": [await objects(bench.service), "result.json"],
          "the provider's log": [await cloudWatch(bench.service), sha256(value)],
          "the arguments": [running.seen, "understudy_payload.sagemaker"],
        },
        [value, CREDENTIALS.secretAccessKey],
      );
      await launcher.close();
    } finally {
      await bench.close();
    }
  });
});
