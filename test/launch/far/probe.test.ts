import { mkdirSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { join, resolve } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { environmentFolder } from "../../../src/launch/far/environment-folder.ts";
import { probeFar } from "../../../src/launch/far/index.ts";
import type { Check, FarProfile } from "../../../src/launch/index.ts";
import { placeOnMachine } from "../../../src/workflow/place-machine.ts";
import { locksOf } from "../../../src/workflow/place-files.ts";
import { python } from "../support.ts";
import { here, program, slurmProfile, sshProfile, temporaryFolder, world } from "./support.ts";

/** A machine whose folders all lie on a disk with 100 MB left. */
function machine(settings: Readonly<Record<string, unknown>> = {}): {
  readonly profile: FarProfile;
  readonly environment: Readonly<Record<string, string>>;
} {
  const at = temporaryFolder().path;
  mkdirSync(join(at, "bin"));
  program(join(at, "bin", "df"), "#!/bin/sh\necho '/dev/small 200000 97600 102400 50% /small'\n");
  const paths = Object.fromEntries(
    ["data", "models", "env", "runs", "tmp"].map((name) => [name, join(at, name)]),
  );
  const profile = sshProfile({ paths, device: "cpu", python: python.path, ...settings });
  return { profile, environment: { PATH: `${at}/bin:${process.env["PATH"]}`, PIP_NO_INDEX: "1" } };
}

const named = (checks: readonly Check[], name: string): readonly Check[] =>
  checks.filter((check) => check.name === name);

async function make(profile: FarProfile): Promise<void> {
  const folder = (await environmentFolder(profile, world.payload)) ?? "";
  mkdirSync(join(folder, "bin"), { recursive: true });
  program(join(folder, "bin", "python"), "");
  writeFileSync(join(folder, "_COMPLETE.json"), "{}\n");
}

describe("a probe", () => {
  it("counts the Python environment that is not made yet", async () => {
    const { profile, environment } = machine();
    expect(named(await probeFar(here(environment), profile, world), "disk /small")).toEqual([
      {
        name: "disk /small",
        outcome: "failed",
        detail: "needs 2.0 GB = about 2.0 GB for the Python environment, has 104.9 MB free",
        hint: expect.any(String),
      },
    ]);
    await make(profile);
    const made = await probeFar(here(environment), profile, world);
    expect(named(made, "disk /small")).toMatchObject([{ outcome: "ok", detail: "has 104.9 MB free" }]);
    expect(named(made, "python")).toMatchObject([{ detail: expect.stringContaining("made already") }]);
  });

  it("counts none where an image brings its own", async () => {
    const { profile, environment } = machine({ container: { engine: "apptainer", image: "/x.sif" } });
    const checks = await probeFar(here(environment), profile, world);
    expect(named(checks, "disk /small")).toMatchObject([{ outcome: "ok" }]);
  });

  it.each([
    sshProfile(),
    sshProfile({ device: "cpu", python: "python3.11", setup: ["module load python"] }),
    slurmProfile({ python: "/opt/python3", setup: ["module load cuda"], wheelhouse: "/far/wheels" }),
  ])("looks for the environment that a start would make", async (profile) => {
    const payload = resolve(import.meta.dirname, "../../../launchers/payload");
    const place = placeOnMachine(
      {
        runId: "run-1",
        profile,
        here: { python: "/usr/bin/python3", runFolder: "/runs/run-1" },
        payload: { folder: payload, digest: "0".repeat(64), files: [] },
        locks: await locksOf(payload),
        data: { name: "d", digest: "0".repeat(64), folder: "/d", train: [], dev: [] },
        model: { folder: "/m", revision: "me/tiny@1", files: [], hub: null },
      },
      profile,
    );
    expect(await environmentFolder(profile, payload)).toBe(place.environment?.folder);
  });
});

describe("the package index of an environment that is not made yet", () => {
  const server = createServer((request, response) => {
    seen.push(`${request.method ?? ""} ${request.url ?? ""} ${request.headers.authorization ?? "-"}`);
    response.statusCode = 403;
    response.end();
  });
  const seen: string[] = [];
  let index = "";
  beforeAll(async () => {
    await new Promise<void>((ready) => {
      server.listen(0, "127.0.0.1", ready);
    });
    const address = server.address();
    index = typeof address === "object" && address !== null ? `127.0.0.1:${address.port}` : "";
  });
  afterAll(() => server.close());

  const look = async (
    { profile, environment }: ReturnType<typeof machine>,
    { pip, source = "" }: { readonly pip: Readonly<Record<string, string>>; readonly source?: string },
  ): Promise<readonly Check[]> => {
    const far = here({
      ...environment,
      PIP_NO_INDEX: undefined,
      PIP_CONFIG_FILE: "/dev/null",
      http_proxy: undefined,
      HTTP_PROXY: undefined,
      ...pip,
    });
    const asking = { ...world, environment: { UNDERSTUDY_FAR_TORCH_WHEELS: source } };
    return named(await probeFar(far, profile, asking), "package index");
  };

  it("answers when anything answers, and gets no token", async () => {
    const checks = await look(machine(), {
      pip: { PIP_INDEX_URL: `http://me:secret@${index}/simple/` },
      source: `http://you:secret@${index}/torch`,
    });
    expect(checks).toEqual([
      { name: "package index", outcome: "ok", detail: `${index} and ${index} answer` },
    ]);
    expect(seen).toEqual(["HEAD /torch -", "HEAD /simple/ -"]);
  });

  it("that cannot be reached is a warning with its name", async () => {
    const pip = { PIP_INDEX_URL: `http://${index}/simple/` };
    const checks = await look(machine(), { pip, source: "http://no-such-host.invalid/whl/cpu" });
    expect(checks).toMatchObject([
      {
        outcome: "warning",
        detail: expect.stringContaining("no-such-host.invalid cannot be reached from there: "),
        hint: expect.stringContaining("wheelhouse:"),
      },
    ]);
    expect(checks[0]?.detail).not.toContain(index);
  });

  it("is read from pip's own settings there", async () => {
    const folder = temporaryFolder().path;
    const file = join(folder, "pip.conf");
    writeFileSync(file, "[global]\nindex_url = http://no-such-mirror.invalid/simple\n");
    expect(await look(machine(), { pip: { PIP_CONFIG_FILE: file } })).toMatchObject([
      { outcome: "warning", detail: expect.stringMatching(/^no-such-mirror\.invalid cannot .*reached/) },
    ]);
  });

  it.each([
    ["a wheelhouse", { wheelhouse: "/far/wheels" }, {}],
    ["an image", { container: { engine: "apptainer", image: "/x.sif" } }, {}],
    ["a folder as pip's only source", {}, { PIP_NO_INDEX: "1", PIP_FIND_LINKS: "/wheels" }],
    ["a proxy that pip alone knows of", {}, { PIP_PROXY: "http://proxy.invalid:3128" }],
  ])("is not asked for with %s", async (_, settings, more) => {
    const pip = { PIP_INDEX_URL: "http://no-such-host.invalid/simple", ...more };
    expect(await look(machine(settings), { pip })).toEqual([]);
  });

  it("is not asked for where the environment is made", async () => {
    const made = machine();
    await make(made.profile);
    expect(await look(made, { pip: { PIP_INDEX_URL: "http://no-such-host.invalid/simple" } })).toEqual([]);
  });
});
