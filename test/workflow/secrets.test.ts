import { appendFileSync, chmodSync, mkdirSync, mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { LAB_PROGRAMS } from "../real/slurm/lab.ts";
import { realSuite } from "../support/real-suite.ts";
import { runUnderstudy } from "../support/run-understudy.ts";
import { makeDataStage, packOnce } from "./data-stage.ts";
import { makeCluster } from "./far-slurm.ts";
import { makeFar } from "./far-ssh.ts";
import { filesWithSecrets, PLANTED, sampleArguments, SETUP_SECRET, secretsIn } from "./planted-secrets.ts";
import { TINY } from "./start-support.ts";
import { until, type Stage } from "./support.ts";
import { removeFolder } from "../support/remove-folder.ts";

packOnce();

const scratch = (): string => {
  const folder = mkdtempSync(join(tmpdir(), "understudy-secrets-"));
  onTestFinished(() => removeFolder(folder));
  return folder;
};

/** Everything that a person does with a run, in a shell full of secrets; all of what it prints, and what ps has shown. */
const live = async (stage: Stage, profile: string): Promise<{ printed: string; seen: string }> => {
  const stop = await sampleArguments(scratch());
  const environment = { ...stage.environment, ...PLANTED };
  let printed = "";
  const run = async (...words: string[]): Promise<string> => {
    const { exitCode, stdout, stderr } = await runUnderstudy(words, { cwd: stage.project.root, environment });
    expect({ words, exitCode, stderr: exitCode === 0 ? "" : stderr }).toEqual({
      words,
      exitCode: 0,
      stderr: "",
    });
    printed += stdout + stderr;
    return stdout;
  };
  await run("doctor", "--on", profile);
  await run(...TINY, "--on", profile, "--dry-run", "--verbose");
  await run(...TINY, "--on", profile, "--dry-run", "--json");
  const made: { run: { id: string } } = JSON.parse(await run(...TINY, "--on", profile, "--json"));
  const { id } = made.run;
  await until(async () => {
    await run("run", "watch", "--once");
    const shown: { state: string } = JSON.parse(await run("run", "show", id, "--json"));
    if (["failed", "lost", "cancelled"].includes(shown.state)) throw new Error(JSON.stringify(shown));
    return shown.state === "succeeded" ? true : undefined;
  });
  await run("run", "logs", id);
  await run("run", "list", "--all", "--json");
  const seen = await stop();
  // The sampler has seen what was started, else it proves nothing.
  expect(seen).toContain("understudy_payload");
  return { printed, seen };
};

it("finds what was planted, in every form, and nothing where nothing is", () => {
  const token = PLANTED["HF_TOKEN"] ?? "";
  for (const before of ["", "a", "ab"]) {
    const text = Buffer.from(`${before}${token}zz`).toString("base64");
    expect(secretsIn(`x${text}y`)).toEqual([token]);
  }
  expect(secretsIn(`https://me:${encodeURIComponent(token)}@host`)).toEqual([token]);
  expect(secretsIn(JSON.stringify({ token }))).toEqual([token]);
  expect(secretsIn("hf_Pl4nted")).toEqual([]);
});

it("no planted secret leaves the shell with a run on this machine", { timeout: 240_000 }, async () => {
  const stage = await makeDataStage();
  const { printed, seen } = await live(stage, "local");
  expect(secretsIn(printed)).toEqual([]);
  expect(secretsIn(seen)).toEqual([]);
  expect(filesWithSecrets(stage.project.root)).toEqual([]);
});

realSuite("planted secrets on a machine over SSH", { programs: ["sshd", "ssh-keygen"], root: true }, () => {
  it("stay here, and what setup reads there stays in the job", { timeout: 240_000 }, async () => {
    const { stage, folder } = await makeFar();
    const file = plantThere(stage, "far", folder);
    const { printed, seen } = await live(stage, "far");
    expect(secretsIn(printed)).toEqual([]);
    expect(secretsIn(seen)).toEqual([]);
    expect(filesWithSecrets(stage.project.root)).toEqual([]);
    expect(filesWithSecrets(folder, [file])).toEqual([]);
  });
});

realSuite("planted secrets on a Slurm cluster", { programs: LAB_PROGRAMS, root: true }, () => {
  it("stay here, and what setup reads there stays in the job", { timeout: 300_000 }, async () => {
    const { stage, lab, folder } = await makeCluster();
    const file = plantThere(stage, "cluster", folder);
    const { printed, seen } = await live(stage, "cluster");
    expect(secretsIn(printed)).toEqual([]);
    expect(secretsIn(seen)).toEqual([]);
    expect(filesWithSecrets(stage.project.root)).toEqual([]);
    // The folders of the runs, the spool and the logs of Slurm, and its accounts.
    expect(filesWithSecrets(folder, [file])).toEqual([]);
    expect(filesWithSecrets(lab.folder, [file])).toEqual([]);
  });
});

/** A secret of the site that a line of setup puts into the job's environment. */
function plantThere(stage: Stage, profile: string, folder: string): string {
  const place = join(folder, "site");
  mkdirSync(place, { recursive: true });
  chmodSync(place, 0o755);
  const file = join(place, "token");
  writeFileSync(file, SETUP_SECRET, { mode: 0o644 });
  const path = join(stage.project.launchers, `${profile}.yaml`);
  const line = `export SITE_TOKEN=\\"$(cat ${file})\\"`;
  const text = readFileSync(path, "utf8");
  if (text.includes("setup: [ ")) writeFileSync(path, text.replace("setup: [ ", `setup: [ "${line}", `));
  else appendFileSync(path, `setup: [ "${line}" ]\n`);
  return file;
}
