import { randomBytes } from "node:crypto";
import { mkdir, open, rename, rm } from "node:fs/promises";
import { dirname } from "node:path";
import { fileWriter, ParquetWriter } from "hyparquet-writer";
import { systemCode, UserError } from "../../core/errors.ts";
import { syncFolder } from "../../core/files.ts";
import { REFERENCE_BACKENDS, type Clip, type DatasetSpec, type Dialogue } from "../schema.ts";
import { audioColumn, parquetSchema } from "./columns.ts";
import { FOOTER_KEY, footerValue } from "./footer.ts";

/** End of the name of a shard that is being written. */
export const STAGED = ".parquet.tmp";

// One page per clip: a row is then read by number without the clips around it.
const PAGE_BYTES = 65_536;
// Readers that ignore page indexes read a whole group for one row, and training shuffles by group.
const GROUP_ROWS = 100;

/**
 * Writes rows to a Parquet shard: under a temporary name, synced, then renamed, so that a shard that has its name is
 * complete. A row group is closed at `rowGroupBytes` or 100 rows. Equal rows give equal bytes. UserError `DISK_FULL`.
 */
export const writeShard = async (
  path: string,
  rows: AsyncIterable<Dialogue>,
  { rowGroupBytes, footer }: Pick<DatasetSpec["shards"], "rowGroupBytes" | "footer">,
): Promise<void> => {
  await mkdir(dirname(path), { recursive: true });
  const staged = `${path.replace(/\.parquet$/, "")}.${randomBytes(4).toString("hex")}${STAGED}`;
  try {
    const writer = new ParquetWriter({
      writer: fileWriter(staged),
      schema: parquetSchema(),
      codec: "SNAPPY",
      createdBy: "understudy",
      kvMetadata: [{ key: FOOTER_KEY, value: footerValue(footer) }],
    });
    for await (const group of grouped(rows, rowGroupBytes)) await writeGroup(writer, group);
    await writer.finish();
    await sync(staged);
    await rename(staged, path);
    await syncFolder(dirname(path));
  } catch (error) {
    await rm(staged, { force: true });
    if (!["ENOSPC", "EDQUOT"].includes(systemCode(error) ?? "")) throw error;
    throw new UserError("DISK_FULL", `No space left while writing ${path}`, {
      hint: "free some space and run the same command again: finished shards are kept",
      cause: error,
    });
  }
};

async function* grouped(rows: AsyncIterable<Dialogue>, limit: number): AsyncGenerator<readonly Dialogue[]> {
  let group: Dialogue[] = [];
  let bytes = 0;
  for await (const row of rows) {
    const size = audioBytes(row);
    if (group.length > 0 && (bytes + size > limit || group.length === GROUP_ROWS)) {
      yield group;
      group = [];
      bytes = 0;
    }
    group.push(row);
    bytes += size;
  }
  if (group.length > 0) yield group;
}

function audioBytes({ turns }: Dialogue): number {
  const clips = turns.flatMap((turn) => [turn.userAudio, ...Object.values(turn.roleAudio)]);
  return clips.reduce((sum, clip) => sum + (clip?.bytes.length ?? 0), 0);
}

async function writeGroup(writer: ParquetWriter, group: readonly Dialogue[]): Promise<void> {
  const column = <Value>(name: string, of: (row: Dialogue) => Value): { name: string; data: Value[] } => ({
    name,
    data: group.map(of),
  });
  await writer.write({
    rowGroupSize: group.length,
    pageSize: PAGE_BYTES,
    columnData: [
      { ...column("id", (row) => row.id), columnIndex: true },
      { ...column("role_id", (row) => row.roleId), columnIndex: true },
      column("role_name", (row) => row.roleName),
      column("language", (row) => row.language),
      column("role_source", (row) => row.roleSource),
      column("kind", (row) => row.kind),
      column("category", (row) => row.category),
      column("system_prompt", (row) => row.systemPrompt),
      column("context", (row) => row.context),
      column("num_turns", (row) => row.turns.length),
      column("audio_seconds", (row) => row.audioSeconds),
      // Blobs: no dictionary, no codec (speech does not shrink), no statistics over whole clips.
      { ...column("turns", turnsOf), encoding: "PLAIN", codec: "UNCOMPRESSED", statistics: false },
      column("content_sha256", (row) => row.contentSha256),
    ],
  });
}

function turnsOf({ turns }: Dialogue): readonly object[] {
  const struct = (clip: Clip | null): Clip | null => clip && { bytes: clip.bytes, path: clip.path };
  return turns.map((turn) => ({
    index: turn.index,
    user_text: turn.userText,
    user_audio: struct(turn.userAudio),
    role_text: turn.roleText,
    ...Object.fromEntries(
      REFERENCE_BACKENDS.map((backend) => [audioColumn(backend), struct(turn.roleAudio[backend])]),
    ),
  }));
}

async function sync(path: string): Promise<void> {
  const file = await open(path, "r+");
  try {
    await file.sync();
  } finally {
    await file.close();
  }
}
