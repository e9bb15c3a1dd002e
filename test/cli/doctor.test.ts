import { cpSync, mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { describe, expect, it } from "vitest";
import { nodeCheck } from "../../src/workflow/doctor.ts";
import { runUnderstudy, type RunOutcome } from "../support/run-understudy.ts";
import { temporaryProject, type TemporaryProject } from "../support/temporary-project.ts";

const repository = resolve(import.meta.dirname, "../..");

interface Answer {
  readonly ok: boolean;
  readonly here: readonly {
    readonly name: string;
    readonly outcome: string;
    readonly detail: string;
    readonly hint?: string;
  }[];
  readonly profiles: readonly {
    readonly name: string;
    readonly kind: string | null;
    readonly check: { readonly outcome: string; readonly detail: string };
  }[];
  readonly profile: { readonly name: string; readonly kind: string; readonly checks: Answer["here"] } | null;
}

const makeProject = async (): Promise<TemporaryProject> => {
  const project = await temporaryProject();
  cpSync(join(repository, "launchers/payload"), join(project.launchers, "payload"), {
    recursive: true,
    filter: (path) => !/\/(tests|__pycache__|\.[a-z_]+)$/.test(path),
  });
  await project.write(
    "launchers/local.yaml",
    "schemaVersion: 1\nkind: local\ndescription: This machine\ndevice: cpu\n",
  );
  return project;
};
const doctor = async (
  project: TemporaryProject,
  words: readonly string[] = [],
  environment: object = {},
): Promise<RunOutcome> =>
  runUnderstudy(["doctor", ...words], { cwd: project.root, environment: { ...process.env, ...environment } });
const answer = async (
  ...parameters: Parameters<typeof doctor>
): Promise<Answer & { readonly exitCode: number }> => {
  const [project, words = [], environment] = parameters;
  const { exitCode, stdout } = await doctor(project, [...words, "--json"], environment);
  const value: Answer = JSON.parse(stdout);
  return { ...value, exitCode };
};
const outcomes = (checks: Answer["here"]): Record<string, string> =>
  Object.fromEntries(checks.map(({ name, outcome }) => [name, outcome]));

describe("doctor", () => {
  it("says of this machine what it has, with numbers, and of every profile whether it can be read", async () => {
    const project = await makeProject();
    const { exitCode, stdout, stderr } = await doctor(project);
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: "" });
    expect(stdout).toMatch(/^this machine\n {2}ok {7}node {10}Node \d+\.\d+\.\d+, 20\.19 or newer needed\n/);
    expect(stdout).toMatch(/ok {7}disk {10}[\d.]+ GB free for the state folder, 3 GB needed/);
    expect(stdout).toMatch(/ok {7}python {8}Python 3\.\d+\.\d+ \(/);
    expect(stdout).toContain("profile local  This machine");
    expect(stdout).toMatch(/no check failed\n$/);
  });

  it("ends with 3 when a check failed, and says what to do", async () => {
    const project = await makeProject();
    await project.write("launchers/wrong.yaml", "schemaVersion: 1\nkind: locale\n");
    const { exitCode, profiles, ok } = await answer(project);
    expect({ exitCode, ok }).toEqual({ exitCode: 3, ok: false });
    expect(profiles.map(({ name, kind }) => [name, kind])).toEqual([
      ["local", "local"],
      ["wrong", null],
    ]);
    expect(profiles[1]?.check).toMatchObject({
      outcome: "failed",
      detail: expect.stringContaining("wrong.yaml:2:1 kind: expected local or ssh"),
    });
    const { stdout } = await doctor(project);
    expect(stdout).toContain("FAILED   profile wrong");
    expect(stdout).toMatch(/1 check failed\n$/);
  });

  it("counts no program as failed that a project can do without, and tells what is missing", async () => {
    const project = await makeProject();
    const bin = join(project.root, "bin");
    mkdirSync(bin);
    const { here: before } = await answer(project);
    const path = /\((.*)\)/.exec(before.find(({ name }) => name === "python")?.detail ?? "")?.[1] ?? "";
    symlinkSync(path, join(bin, "python3"));
    const { exitCode, here } = await answer(project, [], { PATH: bin });
    expect(outcomes(here)).toMatchObject({ git: "unknown", ssh: "unknown", python: "ok" });
    expect(here.find(({ name }) => name === "git")?.detail).toContain("there is no git on PATH");
    expect(exitCode).toBe(0);
  });

  it.each([
    ["no Python", { PATH: "/nowhere" }, "python", "No Python was found"],
    [
      "a state folder that cannot be made",
      { UNDERSTUDY_STATE: "/proc/state" },
      "state folder",
      "cannot be made or written",
    ],
  ])("fails for %s", async (_, environment, check, text) => {
    const { exitCode, here } = await answer(await makeProject(), [], environment);
    expect(exitCode).toBe(3);
    const found = here.find(({ name }) => name === check);
    expect(found).toMatchObject({
      outcome: "failed",
      detail: expect.stringContaining(text),
      hint: expect.any(String),
    });
  });

  it("fails for a payload that is not whole", async () => {
    const project = await temporaryProject();
    const { exitCode, here } = await answer(project);
    expect(exitCode).toBe(3);
    expect(outcomes(here)).toMatchObject({ payload: "failed" });
  });

  it("asks the machine of a profile too", async () => {
    const { exitCode, profile, profiles } = await answer(await makeProject(), ["--on", "local"]);
    expect(exitCode).toBe(0);
    expect(profile).toMatchObject({ name: "local", kind: "local" });
    expect(outcomes(profile?.checks ?? [])).toMatchObject({ python: "ok" });
    expect(profiles).toEqual([]);
  });

  it("tells a machine that cannot be reached as a failed check", async () => {
    const project = await makeProject();
    const known = await project.write("known_hosts", "");
    writeFileSync(join(project.root, "config"), "");
    await project.write(
      "launchers/box.yaml",
      "schemaVersion: 1\nkind: ssh\nhosts: [{ host: 127.0.0.1, port: 1, user: me }]\ndeadlineSeconds: 5\n" +
        `knownHosts: ${known}\nsshConfig: ${join(project.root, "config")}\n` +
        "paths: { data: /d, models: /m, env: /e, runs: /r }\n",
    );
    const { exitCode, profile } = await answer(project, ["--on", "box"]);
    expect(exitCode).toBe(3);
    expect(
      profile?.checks.some(({ outcome, detail }) => outcome === "failed" && detail.includes("127.0.0.1")),
    ).toBe(true);
  });

  it("refuses a profile that is not there", async () => {
    const { exitCode, stderr } = await doctor(await makeProject(), ["--on", "locl"]);
    expect(exitCode).toBe(2);
    expect(stderr).toContain('No launcher profile named "locl"; did you mean local?');
  });
});

describe("nodeCheck", () => {
  it.each([
    ["v20.19.0", "ok"],
    ["v24.0.1", "ok"],
    ["v20.18.3", "failed"],
    ["v18.20.0", "failed"],
  ])("of %s is %s", (version, outcome) => {
    expect(nodeCheck(version).outcome).toBe(outcome);
  });
});
