import { createHash, randomBytes } from "node:crypto";
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, expect, it } from "vitest";
import { systemClock } from "../../../src/core/clock.ts";
import { secretsFrom } from "../../../src/core/secrets.ts";
import {
  jobKey,
  layoutAt,
  type Job,
  type JobRef,
  type Launcher,
  type Plan,
} from "../../../src/launch/index.ts";
import type { OnLaunchProgress } from "../../../src/launch/launchers.ts";
import { sshLauncher } from "../../../src/launch/ssh/launcher.ts";
import { openTransport, type Transport } from "../../../src/launch/transport/index.ts";
import { makeNamespace, type Namespace } from "../../real/netns.ts";
import { realSuite } from "../../support/real-suite.ts";
import { attemptOf, fileOf, logHolds, sweep, until, wrapperPath } from "../support.ts";
import { linesOf } from "./controller.ts";
import { sshdBench, type SshdBench } from "./sshd-bench.ts";

realSuite(
  "a link that is cut while a job is launched and watched",
  { programs: ["sshd", "ip", "nsenter", "setsid"], root: true },
  () => {
    let namespace: Namespace;
    let bench: SshdBench;
    const markers: string[] = [];
    const launchers: Launcher[] = [];
    beforeAll(async () => {
      namespace = makeNamespace();
      const { address, prefix } = namespace;
      bench = await sshdBench({ sshd: { address, prefix, port: 2201 }, settings: { deadlineSeconds: 5 } });
    }, 60_000);
    afterEach(async () => {
      namespace.mend();
      for (const marker of markers.splice(0)) await sweep(marker);
    });
    afterAll(async () => {
      for (const launcher of launchers) await launcher.close();
      await bench.remove();
      namespace.remove();
    });

    /** A launcher that tells of each remote command before it is sent. */
    const watched = async (
      onExec: (argv: readonly string[]) => void,
      onProgress?: OnLaunchProgress,
    ): Promise<Launcher> => {
      const { profile, payload } = bench;
      const environment = process.env;
      const world = {
        clock: systemClock,
        environment,
        payload,
        wrapper: readFileSync(wrapperPath, "utf8"),
        secrets: secretsFrom(environment),
        cores: 2,
        ...(onProgress === undefined ? {} : { onProgress }),
      };
      const launcher = await sshLauncher(profile, world, async (endpoint): Promise<Transport> => {
        const transport = await openTransport(endpoint, profile, world);
        return {
          name: transport.name,
          exec: async (argv, options) => {
            onExec(argv);
            return transport.exec(argv, options);
          },
          close: async () => transport.close(),
        };
      });
      launchers.push(launcher);
      return launcher;
    };
    const planned = (launcher: Launcher, job: Job): Plan => {
      markers.push(attemptOf(job).marker);
      return launcher.plan(job, attemptOf(job));
    };
    const accepted = async (launcher: Launcher, plan: Plan): Promise<JobRef> => {
      const answer = await launcher.submit(plan);
      const ref = answer.outcome === "accepted" ? answer.refs[0] : undefined;
      if (ref === undefined) throw new Error(JSON.stringify(answer));
      return ref;
    };

    it(
      "mid-submit, as the job starts: ambiguous, and then exactly one job",
      { timeout: 120_000 },
      async () => {
        let cut = false;
        const launcher = await watched((argv) => {
          if (cut || argv[1] !== "-s" || !argv.some((word) => word.endsWith("host-run.sh"))) return;
          cut = true;
          setTimeout(() => namespace.cut(), 150);
        });
        const job = bench.job([
          ["say", "once"],
          ["wait", "go"],
        ]);
        // Setup lines take long enough for the cut to come before the answer.
        const plan = planned(launcher, job);
        const slow = { ...plan, files: plan.files.map(slowStart) };
        const answer = await launcher.submit(slow);
        expect(answer.outcome).toBe("ambiguous");
        expect(await launcher.find(slow)).toMatchObject({ outcome: "unavailable" });
        namespace.mend();
        const ref = await until(async () => {
          const found = await launcher.find(slow);
          return found.outcome === "found" ? found.refs[0] : undefined;
        });
        await until(async () => (linesOf(layoutAt(ref.folder).log).length > 0 ? true : undefined));
        expect((await launcher.submit(slow)).outcome).toBe("ambiguous");
        expect(readdirSync(join(job.runFolder, "claims"))).toEqual([slow.attempt.marker]);
        writeFileSync(join(job.runFolder, "go"), "");
        await until(async () =>
          (await launcher.observe([ref])).get(jobKey(ref))?.phase === "ended" ? true : undefined,
        );
        expect(linesOf(layoutAt(ref.folder).log)).toEqual(["once"]);
      },
    );

    it(
      "mid-upload: nothing was started, and the next submission sends the rest",
      { timeout: 120_000 },
      async () => {
        const source = join(bench.folder, "shard");
        const bytes = randomBytes(48 * 1024 * 1024);
        writeFileSync(source, bytes);
        const sha256 = createHash("sha256").update(bytes).digest("hex");
        const path = join(bench.folder, "data", sha256);
        const totals: number[] = [];
        let cut = false;
        const launcher = await watched(
          () => undefined,
          ({ done = 0, total = 0 }) => {
            totals.push(total);
            if (cut || done < 8 * 1024 * 1024) return;
            cut = true;
            namespace.cut();
          },
        );
        const job = bench.job([["wait", "go"]], {
          inputs: [{ role: "data", path, source, bytes: bytes.length, sha256 }],
        });
        const plan = planned(launcher, job);
        const answer = await launcher.submit(plan);
        expect(answer, JSON.stringify(answer)).toMatchObject({ outcome: "rejected", retry: "unreachable" });
        expect(existsSync(job.runFolder)).toBe(false);
        namespace.mend();
        const ref = await until(async () => {
          const again = await launcher.submit(plan);
          return again.outcome === "accepted" ? again.refs[0] : undefined;
        });
        expect((await launcher.observe([ref])).get(jobKey(ref))).toMatchObject({ phase: "live" });
        expect(createHash("sha256").update(readFileSync(path)).digest("hex")).toBe(sha256);
        // Less than all of it was missing the second time.
        expect(totals.at(-1)).toBeLessThan(bytes.length);
      },
    );

    it("mid-log and mid-download: each line once, each byte in its place", { timeout: 120_000 }, async () => {
      const launcher = await watched(() => undefined);
      const many = Array.from({ length: 300 }, (_, index) => `line ${index} ${"x".repeat(200)}`);
      const job = bench.job([
        ...many.slice(0, 150).map((text) => ["say", text] as const),
        ["wait", "go"],
        ...many.slice(150).map((text) => ["say", text] as const),
        ["write", "big.bin", "0123456789abcdef".repeat(2_000_000)],
        ["say", "done"],
      ]);
      const ref = await accepted(launcher, planned(launcher, job));
      await logHolds(ref, "line 149");
      const lines: string[] = [];
      const stop = new AbortController();
      const followed = (async () => {
        for await (const chunk of launcher.logs(ref, { offset: 0 }, { follow: true, signal: stop.signal })) {
          lines.push(...chunk.lines);
          if (lines.includes("done")) stop.abort();
        }
      })();
      await until(async () => (lines.length >= 150 ? true : undefined));
      namespace.cut();
      writeFileSync(join(job.runFolder, "go"), "");
      expect(await fileOf(ref, "result")).toContain('"exitCode":0');
      await systemClock.sleep(3000);
      namespace.mend();
      await followed;
      expect(lines).toEqual([...many, "done"]);

      const target = join(bench.folder, "downloaded.bin");
      const store = launcher.artifacts(ref);
      const download = store.download("output/big.bin", target).then(
        () => "whole",
        () => "broken",
      );
      await until(async () => (sizeBeside(target) > 0 ? true : undefined));
      namespace.cut();
      await systemClock.sleep(1000);
      namespace.mend();
      if ((await download) === "broken") {
        expect(existsSync(target)).toBe(false);
        await until(async () =>
          store.download("output/big.bin", target).then(
            () => true as const,
            () => undefined,
          ),
        );
      }
      expect(readFileSync(target, "latin1")).toBe("0123456789abcdef".repeat(2_000_000));
    });
  },
);

const slowStart = (file: Plan["files"][number]): Plan["files"][number] =>
  file.path.endsWith("start.sh")
    ? { ...file, text: file.text.replace("#!/bin/sh\n", "#!/bin/sh\nsleep 2\n") }
    : file;

// Of the target or of its unfinished beginning.
const sizeBeside = (target: string): number => {
  for (const path of [target, `${target}.part`]) if (existsSync(path)) return statSync(path).size;
  return 0;
};
