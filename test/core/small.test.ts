import { mkdir, mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { canonicalJson, digestOf } from "../../src/core/hash.ts";
import { html, raw } from "../../src/core/html.ts";
import { runProgram } from "../../src/core/process.ts";
import { findProject, freeBytes, prepareState, projectAt } from "../../src/core/project.ts";
import { secretsFrom } from "../../src/core/secrets.ts";
import { removeFolder } from "../support/remove-folder.ts";

describe("hash", () => {
  it("gives equal values equal text, whatever the key order", () => {
    expect(canonicalJson({ b: [{ d: 1, c: 2 }], a: undefined })).toBe('{"b":[{"c":2,"d":1}]}');
    expect(digestOf({ a: 1, b: 2 })).toBe(digestOf({ b: 2, a: 1 }));
    expect(digestOf({ a: 1 })).not.toBe(digestOf({ a: "1" }));
  });
});

describe("html", () => {
  it("escapes everything but what is marked", () => {
    const evil = "<script>\"&'`";
    expect(html`<b title="${evil}">${[evil, raw("<i>")]}</b>${undefined}${0}`.text).toBe(
      '<b title="&#60;script&#62;&#34;&#38;&#39;&#96;">&#60;script&#62;&#34;&#38;&#39;&#96;<i></b>0',
    );
  });
});

describe("secrets", () => {
  const secrets = secretsFrom({ JUDGE_API_KEY: "very-secret-value", HOME: "/home/someone" });

  it("masks values by their name and names what is missing", () => {
    expect(secrets.mask("key very-secret-value at /home/someone")).toBe(
      "key [JUDGE_API_KEY] at /home/someone",
    );
    expect(secrets.read("JUDGE_API_KEY")).toBe("very-secret-value");
    expect(secrets.has("OTHER")).toBe(false);
    expect(() => secrets.read("OTHER")).toThrow(/OTHER is not set/);
  });
});

describe("project", () => {
  it("is found from any folder inside, and its absence is explained", async () => {
    const root = await mkdtemp(join(tmpdir(), "project-"));
    await Promise.all(
      ["recipes", "launchers", "datasets", "checkpoints", "deep/er"].map(async (name) =>
        mkdir(join(root, name), { recursive: true }),
      ),
    );
    expect((await findProject(join(root, "deep", "er"))).root).toBe(root);
    expect((await findProject(root, "/elsewhere")).state).toBe("/elsewhere");
    await expect(findProject(tmpdir())).rejects.toMatchObject({ code: "PROJECT_MISSING" });
    expect(await freeBytes(root)).toBeGreaterThan(0);
    removeFolder(root);
  });

  it("refuses state on a network filesystem, with the way out", async () => {
    const root = await mkdtemp(join(tmpdir(), "project-"));
    await prepareState(projectAt(root));
    await expect(prepareState(projectAt(root), async () => 0x6969)).rejects.toMatchObject({
      code: "STATE_ON_NETWORK",
      message: expect.stringContaining("NFS"),
      hint: expect.stringContaining("UNDERSTUDY_STATE"),
    });
    removeFolder(root);
  });
});

describe("runProgram", () => {
  it("returns failure as a value, passes only the given environment, and names a missing program", async () => {
    const result = await runProgram(["sh", "-c", 'echo "$HOME|$ONLY"; echo no >&2; exit 3'], {
      env: { ONLY: "this", PATH: "/usr/bin:/bin" },
    });
    expect(result).toMatchObject({ exitCode: 3, stdout: "|this", stderr: "no" });
    const lines: string[] = [];
    await runProgram(["sh", "-c", "echo a; echo b >&2"], {
      env: { PATH: "/usr/bin:/bin" },
      onLine: (line) => lines.push(line),
    });
    expect(lines.toSorted()).toEqual(["a", "b"]);
    await expect(runProgram(["/no/such/program"], { env: {} })).rejects.toMatchObject({
      code: "PROGRAM_MISSING",
    });
  });
});
