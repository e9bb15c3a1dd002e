import { mkdirSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { openDatabase } from "../../src/track/database.ts";
import { openStore } from "../../src/track/index.ts";
import { migrate, STORE_VERSION } from "../../src/track/migrations.ts";
import { codeOf, freshPath, handClock, opened } from "./support.ts";

describe("the file", () => {
  const Version = z.object({ user_version: z.int() });

  it("is made with its version, in a folder that is made too", () => {
    const { path } = opened();
    expect(openDatabase(path).first(Version, "PRAGMA user_version")).toEqual({ user_version: STORE_VERSION });
  });

  it("is brought up step by step, keeping what it holds; a failed step leaves the version before it", () => {
    const path = freshPath();
    const one = "CREATE TABLE a (x TEXT)";
    const two = "ALTER TABLE a ADD COLUMN y TEXT DEFAULT 'new'";
    const database = openDatabase(path);
    migrate(database, path, [one]);
    database.run("INSERT INTO a (x) VALUES ('old')");
    migrate(database, path, [one, two]);
    migrate(database, path, [one, two]);
    const Row = z.object({ x: z.string(), y: z.string() });
    expect(database.all(Row, "SELECT * FROM a")).toEqual([{ x: "old", y: "new" }]);
    expect(() =>
      migrate(database, path, [one, two, "CREATE TABLE b (x TEXT); CREATE TABLE a (z TEXT)"]),
    ).toThrow();
    expect(database.first(Version, "PRAGMA user_version")).toEqual({ user_version: 2 });
    expect(() => database.run("SELECT * FROM b")).toThrow(/no such table/);
  });

  it("of a version that knew no stop at once is brought up with its runs", () => {
    const { store, path, clock, runId } = opened();
    store.requestStop(runId);
    store.close();
    const database = openDatabase(path);
    database.exec("DROP TABLE mirrors; ALTER TABLE runs DROP COLUMN stop_now; PRAGMA user_version = 1");
    database.close();
    const again = openStore(path, clock);
    expect(again.getRun(runId)).toMatchObject({ stopRequested: true, stopNow: false });
    again.close();
  });

  it("of a newer version, of somebody else, or of no database at all is refused in words", () => {
    const { store, path, clock } = opened();
    store.close();
    const database = openDatabase(path);
    database.exec(`PRAGMA user_version = ${STORE_VERSION + 1}`);
    database.close();
    expect(codeOf(() => openStore(path, clock))).toBe("STORE_TOO_NEW");
    const foreign = freshPath();
    const other = openDatabase(foreign);
    other.exec("CREATE TABLE theirs (x TEXT)");
    other.close();
    expect(codeOf(() => openStore(foreign, clock))).toBe("STORE_FOREIGN");
    const text = freshPath();
    mkdirSync(dirname(text), { recursive: true });
    writeFileSync(text, "not a database, but long enough to be taken for one".repeat(50));
    expect(codeOf(() => openStore(text, handClock()))).toBe("STORE_UNREADABLE");
  });
});
