import { mkdir, mkdtemp, readdir, readFile, rename, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { buildReport, writeReport } from "../../src/report/index.ts";
import { byGains, handInput } from "./hand-input.ts";
import { removeFolder } from "../support/remove-folder.ts";

const input = handInput(byGains("s", [0.3, 0.4, 0.5]), byGains("u", [0.1, 0.2]));

describe("writeReport", () => {
  let folder: string;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), "write-"));
  });
  afterEach(() => removeFolder(folder));

  const write = async () => writeReport(buildReport(input), input, join(folder, "deep/report"));
  const names = async (): Promise<string[]> => (await readdir(join(folder, "deep"))).toSorted();

  it("writes page, text, table and data into a new folder, and nothing beside it", async () => {
    expect(await write()).toBe(join(folder, "deep/report/index.html"));
    expect((await readdir(join(folder, "deep/report"))).toSorted()).toEqual([
      "audio",
      "index.html",
      "model.json",
      "report.csv",
      "report.md",
    ]);
    expect(await names()).toEqual(["report"]);
    const model: unknown = JSON.parse(await readFile(join(folder, "deep/report/model.json"), "utf8"));
    expect(model).toMatchObject({ schemaVersion: 1, run: "run-1" });
  });

  it("replaces an older report as a whole", async () => {
    await mkdir(join(folder, "deep/report/audio"), { recursive: true });
    await writeFile(join(folder, "deep/report/audio/old.wav"), "old");
    await write();
    expect(await readdir(join(folder, "deep/report/audio"))).toEqual([]);
    expect(await names()).toEqual(["report"]);
  });

  it("brings back the report that a writer killed between its two renames had moved aside", async () => {
    await write();
    await rename(join(folder, "deep/report"), join(folder, "deep/.report.old-0badcafe"));
    const broken = {
      ...buildReport(input),
      cells: [...buildReport(input).cells, ...buildReport(input).cells],
    };
    await expect(writeReport(broken, input, join(folder, "deep/report"))).rejects.toMatchObject({
      code: "REPORT_CELL_TWICE",
    });
    // The failed write left the older report in its place, and none of its own.
    expect(await names()).toEqual(["report"]);
    expect(await readFile(join(folder, "deep/report/index.html"), "utf8")).toContain("<!doctype html>");
  });

  it("clears what killed writers left long ago, not what may be in use", async () => {
    for (const name of [".report.new-00000001", ".report.old-00000002", ".report.new-00000003"])
      await mkdir(join(folder, "deep", name), { recursive: true });
    const yesterday = new Date(Date.now() - 86_400_000);
    await utimes(join(folder, "deep/.report.new-00000001"), yesterday, yesterday);
    await mkdir(join(folder, "deep/report"));
    await utimes(join(folder, "deep/.report.old-00000002"), yesterday, yesterday);
    await write();
    expect(await names()).toEqual([".report.new-00000003", "report"]);
  });

  it("survives two writers at once", async () => {
    await Promise.all([write(), write(), write()]);
    expect(await names()).toEqual(["report"]);
    expect(await readFile(join(folder, "deep/report/report.csv"), "utf8")).toContain(
      "level,base,test/seen,nll",
    );
  });
});
