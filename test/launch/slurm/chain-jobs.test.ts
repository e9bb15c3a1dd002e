import { chmodSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import type { Plan } from "../../../src/launch/index.ts";
import { LAB_PROGRAMS, startLab, type SlurmLab } from "../../real/slurm/lab.ts";
import { realSuite } from "../../support/real-suite.ts";
import { temporaryFolder } from "../support.ts";
import {
  allGone,
  eventually,
  exitOf,
  fakePython,
  linkRecords,
  planBelow,
  readJson,
  submitByHand,
  tryRead,
} from "./chain-support.ts";

const MINUTES = 60_000;

realSuite("the jobs of a chain on Slurm", { programs: LAB_PROGRAMS, root: true }, () => {
  let lab: SlurmLab;
  const folder = temporaryFolder().path;
  beforeAll(async () => {
    chmodSync(folder, 0o755);
    fakePython(folder);
    lab = await startLab({ accounting: "none" });
  });
  afterAll(async () => {
    await lab.close();
  });

  const planned = (runId: string, settings: object): Plan => planBelow(folder, runId, { settings });
  const script = (runId: string, attempt: number, text: string): void => {
    mkdirSync(join(folder, runId), { recursive: true });
    writeFileSync(join(folder, runId, `script-${attempt}`), `${text}\n`);
  };

  it(
    "a success makes later links exit at once",
    async () => {
      script("success", 1, "checkpoint 4; exit 3");
      script("success", 2, "checkpoint 10; exit 0");
      const ids = submitByHand(lab, planned("success", { chain: 4 }));
      await allGone(lab, ids);
      expect(ids.map((id) => exitOf(lab, id))).toEqual(["3:0", "0:0", "0:0", "0:0"]);
      const records = linkRecords(join(folder, "success"));
      expect(
        Object.entries(records).map(([name, { decision, attempt }]) => [name, decision, attempt]),
      ).toEqual([
        ["1-1", "run", 1],
        ["1-2", "run", 2],
        ["1-3", "succeeded", null],
        ["1-4", "succeeded", null],
      ]);
      expect(Object.values(records).map(({ job }) => job)).toEqual(ids);
    },
    MINUTES,
  );

  it(
    "a permanent failure, too",
    async () => {
      script("failure", 1, "checkpoint 4; echo boom; exit 1");
      const ids = submitByHand(lab, planned("failure", { chain: 3 }));
      await allGone(lab, ids);
      expect(ids.map((id) => exitOf(lab, id))).toEqual(["1:0", "1:0", "1:0"]);
      expect(linkRecords(join(folder, "failure"))["1-3"]).toMatchObject({
        decision: "failed",
        attempt: null,
      });
      expect(readFileSync(join(folder, "failure/attempts/1/log.txt"), "utf8")).toBe("attempt 1\nboom\n");
    },
    MINUTES,
  );

  it(
    "two jobs with one marker, started on purpose: the second is fenced and writes nothing",
    async () => {
      script("twice", 1, 'until [ -e "$run/go" ]; do sleep 0.1; done; checkpoint 10');
      const plan = planned("twice", {});
      const [first = ""] = submitByHand(lab, plan);
      const log = join(folder, "twice/attempts/1/log.txt");
      await eventually(() => tryRead(log) === "attempt 1\n");
      const [second = ""] = submitByHand(lab, plan);
      await allGone(lab, [second]);
      expect(exitOf(lab, second)).toBe("75:0");
      expect(tryRead(log)).toBe("attempt 1\n");
      expect(Object.keys(linkRecords(join(folder, "twice")))).toEqual(["1-1"]);
      expect(tryRead(join(folder, "twice/fence"))).toBe("T\n");
      writeFileSync(join(folder, "twice/go"), "");
      await allGone(lab, [first]);
      expect(exitOf(lab, first)).toBe("0:0");
    },
    MINUTES,
  );

  it(
    "a requeued job is the same link and goes on as the next attempt",
    async () => {
      script("requeue", 1, "checkpoint 4; echo saved; sleep 100");
      script("requeue", 2, "checkpoint 10");
      const [id = ""] = submitByHand(lab, planned("requeue", {}));
      await eventually(() => tryRead(join(folder, "requeue/attempts/1/log.txt"))?.includes("saved") === true);
      lab.run(["scontrol", "requeue", id]);
      await allGone(lab, [id]);
      expect(exitOf(lab, id)).toBe("0:0");
      expect(linkRecords(join(folder, "requeue"))).toMatchObject({
        "1-1": { job: id, restart: 0, attempt: 1, progress: 0 },
        "1-1-2": { job: id, restart: 1, attempt: 2, progress: 4 },
      });
      expect(readJson(join(folder, "requeue/attempts/2/job.json"))).toMatchObject({
        attempt: { number: 2, token: "T.2" },
      });
    },
    2 * MINUTES,
  );

  it(
    "keeps later links away from a node that was unfit",
    async () => {
      const [bad, good] = lab.nodes;
      writeFileSync(join(folder, "unfit-node"), `${bad}\n`);
      lab.run(["scontrol", "update", `NodeName=${good}`, "State=DRAIN", "Reason=test"]);
      for (const attempt of [1, 2, 3]) script("unfit", attempt, "checkpoint 10");
      const ids = submitByHand(lab, planned("unfit", { chain: 4 }));
      const run = join(folder, "unfit");
      await eventually(() => tryRead(join(run, "attempts/2/result.json")) !== undefined);
      lab.run(["scontrol", "update", `NodeName=${good}`, "State=RESUME"]);
      await allGone(lab, ids);
      rmSync(join(folder, "unfit-node"));
      expect(readJson(join(run, "attempts/1/result.json"))).toMatchObject({
        reason: "node-check",
        host: bad,
      });
      expect(readJson(join(run, "attempts/3/result.json"))).toMatchObject({ exitCode: 0, host: good });
      expect(lab.run(["scontrol", "show", "job", ids[3] ?? ""])).toContain(`ExcNodeList=${bad}`);
    },
    2 * MINUTES,
  );

  it(
    "starts the ranks of two nodes by one srun, and their exit code is the job's",
    async () => {
      script(
        "nodes",
        1,
        'echo "$RANK $LOCAL_RANK $WORLD_SIZE $LOCAL_WORLD_SIZE $MASTER_ADDR $MASTER_PORT $HF_HUB_OFFLINE"; exit 3',
      );
      const [id = ""] = submitByHand(lab, planned("nodes", { nodes: 2, processes: 2, cpusPerTask: 4 }));
      await allGone(lab, [id]);
      expect(exitOf(lab, id)).toBe("3:0");
      const log = readFileSync(join(folder, "nodes/attempts/1/log.txt"), "utf8");
      const ranks = log
        .split("\n")
        .filter((line) => /^\d/.test(line))
        .toSorted();
      const [, , , , head = "", port = ""] = ranks[0]?.split(" ") ?? [];
      expect(ranks).toEqual([0, 1, 2, 3].map((rank) => `${rank} ${rank % 2} 4 2 ${head} ${port} 1`));
      expect(lab.nodes).toContain(head);
      expect(Number(port)).toBeGreaterThan(1023);
    },
    MINUTES,
  );
});
