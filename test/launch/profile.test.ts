import { execFileSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { projectAt } from "../../src/core/project.ts";
import { isMarker, loadProfile, markerOf, shellQuote } from "../../src/launch/index.ts";
import { temporaryFolder } from "./support.ts";

describe("markers", () => {
  it("are the run and the attempt, as long as every launcher can use that", () => {
    expect(markerOf("20260131-101500-smoke-ab12", 3)).toBe("us-20260131-101500-smoke-ab12-a3");
  });

  it.each(["x".repeat(200), "SpeechRole_ood/α", "-", "a--b", "é", "x".repeat(55), `${"y".repeat(50)}-`])(
    "are legal for %s, different for each run and attempt",
    (id) => {
      const markers = [markerOf(id, 1), markerOf(id, 12345), markerOf(`${id}z`, 1)];
      expect(markers.filter((marker) => !isMarker(marker))).toEqual([]);
      expect(new Set(markers).size).toBe(3);
      expect(markerOf(id, 1)).toBe(markers[0]);
    },
  );
});

describe("shellQuote", () => {
  it.each(["", "plain", "a b", "it's", '"$HOME`x`"', "line\nbreak", "ünï", "-n", "a\\b", "*"])(
    "is read back unchanged: %j",
    (text) => {
      const echoed = execFileSync("/bin/sh", ["-c", `printf %s ${shellQuote(text)}`], { encoding: "utf8" });
      expect(text === "" ? shellQuote(text) : echoed).toBe(text === "" ? "''" : text);
    },
  );
});

describe("loadProfile", () => {
  const root = temporaryFolder().path;
  const project = projectAt(root);
  mkdirSync(project.launchers);
  writeFileSync(join(project.launchers, "good.yaml"), "schemaVersion: 1\nkind: local\nprocesses: 8\n");
  writeFileSync(
    join(project.launchers, "bad.yaml"),
    "schemaVersion: 1\nkind: local\nprocesses: 0\nthread: 3\ndevice: tpu\n",
  );
  writeFileSync(join(project.launchers, "other.yaml"), "schemaVersion: 1\nkind: cloud\n");

  it("reads a profile with its defaults", async () => {
    expect(await loadProfile(project, "good")).toEqual({
      schemaVersion: 1,
      kind: "local",
      processes: 8,
      device: "auto",
      graceSeconds: 120,
    });
  });

  it("lists every problem with its place", async () => {
    const file = join(project.launchers, "bad.yaml");
    const message = await loadProfile(project, "bad").catch((error: unknown) => String(error));
    for (const place of [`${file}:3:1 processes`, `${file}:4:1 thread: unknown key`, `${file}:5:1 device`]) {
      expect(message).toContain(place);
    }
    await expect(loadProfile(project, "other")).rejects.toMatchObject({ code: "FILE_INVALID" });
  });

  it.each(["none", "../launchers/good", "", "a/b"])("names the profiles that exist for %j", async (name) => {
    await expect(loadProfile(project, name)).rejects.toMatchObject({
      code: "PROFILE_UNKNOWN",
      hint: "profiles here: bad, good, other",
    });
  });

  it("accepts the committed profiles", async () => {
    const committed = projectAt(join(import.meta.dirname, "../.."));
    expect(await loadProfile(committed, "local")).toMatchObject({ kind: "local", processes: 1 });
  });
});
