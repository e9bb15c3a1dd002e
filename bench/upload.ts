// Uploads over loopback SSH against scp and sftp of the same bytes: medians of alternating runs, so that a busy machine hits
// all alike. Ours includes opening the connection, the question what is missing, digests computed on the far side, fsync and
// rename; theirs includes none of the latter three. Needs root, sshd, scp and sftp.
// Usage: node bench/upload.ts [megabytes] [runs] (Node 22.18 or newer), or with any Node
//   node --input-type=module -e 'await (await import("vite")).runnerImport("bench/upload.ts")' -- [megabytes] [runs]
import { execFileSync, spawnSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import {
  chmodSync,
  closeSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  rmSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { join } from "node:path";
import { systemClock } from "../src/core/clock.ts";
import { sha256File } from "../src/core/hash.ts";
import { ensureUploads, openTransport } from "../src/launch/transport/index.ts";
import type { JobInput } from "../src/launch/schema.ts";
import { FAR_USER, startSshd } from "../test/real/sshd/sshd.ts";

const FILES = 8;
const LEAST_RATIO = 0.8;
const numbers = process.argv
  .slice(1)
  .map(Number)
  .filter((value) => value > 0);
const megabytes = numbers[0] ?? 2048;
const runs = numbers[1] ?? 3;

const folder = mkdtempSync("/tmp/understudy-upload-");
chmodSync(folder, 0o755);
const sshd = await startSshd(folder);
writeFileSync(join(folder, "known_hosts"), sshd.knownHosts);
writeFileSync(join(folder, "ssh_config"), "");
mkdirSync(join(folder, "here"));

try {
  const files = Array.from({ length: FILES }, (_, index) => join(folder, "here", `shard-${index}.parquet`));
  const inputs: JobInput[] = [];
  for (const source of files) {
    writeRandom(source, Math.ceil(megabytes / FILES));
    inputs.push({
      role: "data",
      path: "",
      source,
      bytes: Math.ceil(megabytes / FILES) * 2 ** 20,
      sha256: await sha256File(source),
    });
  }
  const options = [
    ["-F", join(folder, "ssh_config"), "-i", sshd.key, "-P", String(sshd.port), "-q"],
    ["-o", `UserKnownHostsFile=${join(folder, "known_hosts")}`, "-o", "BatchMode=yes"],
  ].flat();
  const destination = `${FAR_USER}@127.0.0.1`;
  const ways: Record<string, (there: string) => Promise<void> | void> = {
    scp: (there) => void execFileSync("scp", [...options, ...files, `${destination}:${there}`]),
    sftp: (there) => {
      const batch = files.map((file) => `put ${file} ${there}/`).join("\n");
      const { status } = spawnSync("sftp", [...options, "-b", "-", destination], {
        input: `${batch}\n`,
        stdio: ["pipe", "ignore", "inherit"],
      });
      if (status !== 0) throw new Error(`sftp ended with ${status}`);
    },
    "ours, ssh2": async (there) => ours("ssh2", there),
    "ours, openssh": async (there) => ours("openssh", there),
  };
  async function ours(transport: "ssh2" | "openssh", there: string): Promise<void> {
    const far = await openTransport(
      { host: "127.0.0.1", port: sshd.port, user: FAR_USER, identityFile: sshd.key, jump: [] },
      {
        transport,
        sshConfig: join(folder, "ssh_config"),
        knownHosts: join(folder, "known_hosts"),
        deadlineSeconds: 30,
      },
      { clock: systemClock, environment: process.env },
    );
    const wanted = inputs.map((input) => ({ ...input, path: `${there}/${input.sha256}` }));
    const { sent } = await ensureUploads(far, wanted, { umask: "0022" });
    if (sent !== FILES) throw new Error(`${sent} files were sent`);
    await far.close();
  }

  const seconds = new Map<string, number[]>(Object.keys(ways).map((name) => [name, []]));
  for (let run = 0; run < runs; run += 1) {
    for (const [name, way] of Object.entries(ways)) {
      const there = join(folder, "there");
      mkdirSync(there);
      chmodSync(there, 0o777);
      execFileSync("sync");
      const start = performance.now();
      await way(there);
      seconds.get(name)?.push((performance.now() - start) / 1000);
      rmSync(there, { recursive: true });
    }
  }
  const medians = new Map([...seconds].map(([name, values]) => [name, median(values)]));
  const fastest = Math.min(medians.get("scp") ?? Infinity, medians.get("sftp") ?? Infinity);
  console.log(`${megabytes} MiB in ${FILES} files over loopback, median of ${runs}`);
  for (const [name, value] of medians) {
    const rate = (megabytes / value).toFixed(0);
    console.log(
      `${name.padEnd(14)} ${value.toFixed(2)} s  ${rate.padStart(5)} MiB/s  ${(fastest / value).toFixed(2)} of the faster of scp and sftp`,
    );
  }
  const best = Math.min(medians.get("ours, ssh2") ?? Infinity, medians.get("ours, openssh") ?? Infinity);
  if (fastest / best < LEAST_RATIO) process.exitCode = 1;
} finally {
  await sshd.stop();
  rmSync(folder, { recursive: true, force: true });
}

function writeRandom(path: string, count: number): void {
  const file = openSync(path, "w");
  for (let index = 0; index < count; index += 1) writeSync(file, randomBytes(2 ** 20));
  closeSync(file);
}

function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[sorted.length >> 1] ?? NaN;
}
