import { randomBytes } from "node:crypto";
import { mkdir, rename, rm } from "node:fs/promises";
import { dirname } from "node:path";
import { systemCode, UserError } from "../../core/errors.ts";
import { syncFolder } from "../../core/files.ts";
import {
  REFERENCE_BACKENDS,
  type Clip,
  type DatasetSpec,
  type Dialogue,
  type ReferenceBackend,
  type Turn,
} from "../schema.ts";
import { ClipMemory } from "./clip-memory.ts";
import { audioColumn, parquetSchema } from "./columns.ts";
import { FOOTER_KEY, footerValue } from "./footer.ts";
import { GroupWriter, type GroupColumn } from "./group-writer.ts";
import { ShardFile, type FileSummary } from "./shard-file.ts";

/** End of the name of a shard that is being written. */
export const STAGED = ".parquet.tmp";

// One page per clip: a row is then read by number without the clips around it.
const PAGE_BYTES = 65_536;
// Readers that ignore page indexes read a whole group for one row, and training shuffles by group.
const GROUP_ROWS = 100;

/**
 * Writes rows to a Parquet shard: under a temporary name, synced, then renamed, so that a shard that has its name is
 * complete. A row group is closed at `rowGroupBytes` or 100 rows. Equal rows give equal bytes.
 * Returns size and digest of the file. Whoever writes several after each other gives them one `memory`. UserError `DISK_FULL`.
 */
export const writeShard = async (
  path: string,
  rows: AsyncIterable<Dialogue>,
  settings: Pick<DatasetSpec["shards"], "rowGroupBytes" | "footer">,
  memory = new ClipMemory(),
): Promise<FileSummary> => {
  await mkdir(dirname(path), { recursive: true });
  const staged = `${path.replace(/\.parquet$/, "")}.${randomBytes(4).toString("hex")}${STAGED}`;
  try {
    const written = await writeStaged(staged, rows, { ...settings, memory });
    await rename(staged, path);
    await syncFolder(dirname(path));
    return written;
  } catch (error) {
    await rm(staged, { force: true });
    if (!["ENOSPC", "EDQUOT"].includes(systemCode(error) ?? "")) throw error;
    throw new UserError("DISK_FULL", `No space left while writing ${path}`, {
      hint: "free some space and run the same command again: finished shards are kept",
      cause: error,
    });
  }
};

async function writeStaged(
  path: string,
  rows: AsyncIterable<Dialogue>,
  {
    rowGroupBytes,
    footer,
    memory,
  }: Pick<DatasetSpec["shards"], "rowGroupBytes" | "footer"> & { readonly memory: ClipMemory },
): Promise<FileSummary> {
  const file = new ShardFile(path);
  try {
    const writer = new GroupWriter({
      writer: file,
      schema: parquetSchema(),
      codec: "SNAPPY",
      createdBy: "understudy",
      kvMetadata: [{ key: FOOTER_KEY, value: footerValue(footer) }],
    });
    for await (const group of grouped(rows, rowGroupBytes, memory)) {
      writeGroup(writer, group);
      file.writeBack();
    }
    await writer.finish();
    return await file.complete();
  } finally {
    await file.close();
  }
}

// A group is good until the next one is asked for.
async function* grouped(
  rows: AsyncIterable<Dialogue>,
  limit: number,
  memory: ClipMemory,
): AsyncGenerator<readonly Dialogue[]> {
  let group: Dialogue[] = [];
  let bytes = 0;
  memory.begin();
  for await (const row of rows) {
    const size = audioBytes(row);
    if (group.length > 0 && (bytes + size > limit || group.length === GROUP_ROWS)) {
      yield group;
      group = [];
      bytes = 0;
      memory.releaseEarlier();
    }
    group.push({ ...row, turns: row.turns.map((turn) => keptTurn(turn, memory)) });
    bytes += size;
    memory.begin();
  }
  if (group.length > 0) yield group;
}

function keptTurn(turn: Turn, memory: ClipMemory): Turn {
  const kept = <Held extends Clip | null>(clip: Held): Held =>
    clip && { ...clip, bytes: memory.keep(clip.bytes) };
  const roleAudio: Record<ReferenceBackend, Clip | null> = { cosyvoice2: null, f5_tts: null, e2_tts: null };
  for (const backend of REFERENCE_BACKENDS) roleAudio[backend] = kept(turn.roleAudio[backend]);
  return { ...turn, userAudio: kept(turn.userAudio), roleAudio };
}

function audioBytes({ turns }: Dialogue): number {
  const clips = turns.flatMap((turn) => [turn.userAudio, ...Object.values(turn.roleAudio)]);
  return clips.reduce((sum, clip) => sum + (clip?.bytes.length ?? 0), 0);
}

function writeGroup(writer: GroupWriter, group: readonly Dialogue[]): void {
  const column = (name: string, of: (row: Dialogue) => unknown): GroupColumn => ({
    name,
    data: group.map(of),
  });
  writer.writeGroup(
    [
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
    group.length,
    PAGE_BYTES,
  );
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
