import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import Libsql from "libsql";
import { describe, expect, it } from "vitest";
import { runUnderstudy } from "../support/run-understudy.ts";
import { temporaryProject, type TemporaryProject } from "../support/temporary-project.ts";
import { refusal } from "./support.ts";

const list = (project: TemporaryProject, state: string): Promise<string> =>
  refusal(["run", "list"], {
    cwd: project.root,
    environment: { UNDERSTUDY_STATE: state },
    exitCode: 2,
  });

describe("a state folder that cannot be used is refused:", () => {
  it("a file in its place", async () => {
    const project = await temporaryProject();
    const file = await project.write("state", "precious");
    expect(await list(project, file)).toBe(
      `error: The state folder ${file} cannot be made or written: a file is in its place\n` +
        "hint: set UNDERSTUDY_STATE to a folder on a local disk that you may write\n",
    );
    expect(await readFile(file, "utf8")).toBe("precious");
  });

  it("a folder below a file", async () => {
    const project = await temporaryProject();
    const file = await project.write("state", "precious");
    expect(await list(project, join(file, "inner"))).toContain(
      "cannot be made or written: a part of the path is a file, not a folder",
    );
  });

  it.skipIf(process.platform !== "linux")(
    "where the system makes no folders, without trying for ever",
    async () => {
      const project = await temporaryProject();
      expect(await list(project, "/proc/understudy/state")).toContain(
        "The state folder /proc/understudy/state cannot be made or written: there is no such file or folder",
      );
    },
  );

  it("a name that no filesystem takes", async () => {
    const project = await temporaryProject();
    expect(await list(project, join(project.root, "s".repeat(300)))).toContain("the name is too long");
  });
});

describe("a run store that cannot be read is refused, and left as it is:", () => {
  const storeOf = async (): Promise<{ project: TemporaryProject; store: string }> => {
    const project = await temporaryProject();
    await mkdir(project.state);
    return { project, store: join(project.state, "state.sqlite") };
  };
  const ALL = [["run", "list"], ["run", "show", "x"], ["eval", "start", "x"], ["quickstart"]];
  const stays = async (
    { project, store }: Awaited<ReturnType<typeof storeOf>>,
    expected: string,
    commands: readonly (readonly string[])[] = ALL,
  ): Promise<void> => {
    const before = await readFile(store);
    for (const words of commands) {
      expect(await refusal(words, { cwd: project.root, exitCode: 2 })).toContain(expected);
    }
    expect((await readFile(store)).equals(before)).toBe(true);
  };
  const edit = (store: string, sql: string): void => {
    const database = new Libsql(store);
    database.exec(sql);
    // The library closes for good when it is collected; until then the change would stand in the WAL file alone.
    database.prepare("PRAGMA wal_checkpoint(TRUNCATE)").all();
    database.close();
  };

  it("garbage", async () => {
    const { project, store } = await storeOf();
    await writeFile(store, Buffer.from("no database at all. ".repeat(500)));
    await stays({ project, store }, `error: ${store} is not a readable run store: file is not a database`);
  });

  it("a store whose pages are damaged, naming it", async () => {
    const { project, store } = await storeOf();
    const sound = join(project.root, "sound");
    const environment = { UNDERSTUDY_STATE: sound };
    await runUnderstudy(["run", "list"], { cwd: project.root, environment });
    edit(join(sound, "state.sqlite"), "PRAGMA wal_checkpoint(TRUNCATE)");
    const bytes = await readFile(join(sound, "state.sqlite"));
    expect(bytes.length).toBeGreaterThan(8192);
    await writeFile(
      store,
      Buffer.concat([bytes.subarray(0, 4096), Buffer.alloc(bytes.length - 4096, "damage")]),
    );
    const expected = `error: ${store} is not a readable run store: `;
    await stays({ project, store }, expected, [["run", "list"]]);
  });

  it("one of a newer version, saying both versions", async () => {
    const { project, store } = await storeOf();
    await runUnderstudy(["run", "list"], { cwd: project.root });
    edit(store, "PRAGMA user_version = 99");
    await stays(
      { project, store },
      "was written by a newer version (store version 99, this program knows 3)",
    );
  });

  it("another program's database", async () => {
    const { project, store } = await storeOf();
    edit(store, "CREATE TABLE theirs (a)");
    await stays({ project, store }, `error: ${store} is a database, but not a run store`);
  });

  it("a folder", async () => {
    const { project, store } = await storeOf();
    await mkdir(store);
    expect(await refusal(["run", "list"], { cwd: project.root, exitCode: 2 })).toContain(
      `error: The run store ${store} cannot be opened for writing`,
    );
  });
});
