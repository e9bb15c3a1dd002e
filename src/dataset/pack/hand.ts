import { join } from "node:path";
import { setImmediate as nextTurn } from "node:timers/promises";
import { lazyClipReader, type ClipCodec } from "../../audio/index.ts";
import { InternalError, UserError } from "../../core/errors.ts";
import type { Project } from "../../core/project.ts";
import type { LoadedSpec } from "../load-spec.ts";
import { packedFolder } from "../places.ts";
import type { Dialogue, Drop, RoleEntry } from "../schema.ts";
import { ClipMemory } from "../shard/clip-memory.ts";
import { openCollector, type Collector } from "../shard/collect.ts";
import { writeShard } from "../shard/write-shard.ts";
import { openSource } from "../source/open-source.ts";
import type { DialogueSource } from "../source/source.ts";
import { assemble, contentSha256, fingerprint, type Assembled, type Assembler } from "./assemble.ts";
import type { Entry, UnitSurvey } from "./entry.ts";
import { inspect } from "./inspect.ts";

/** What one thread does of a pack: it reads units of the source, and it writes shards. */
export interface Hand {
  /** Every dialogue of a unit, read, decoded, hashed and forgotten but for an entry. UserErrors `SOURCE_JSON_INVALID`, `CLIP_BAD`, … */
  survey(unit: string, watch: Watch): Promise<UnitSurvey>;
  /** Writes a shard from the rows of its entries. UserErrors `SOURCE_CHANGED`, `DISK_FULL`. */
  write(shard: ShardTask, watch: Watch): Promise<{ readonly bytes: number; readonly sha256: string }>;
  close(): Promise<void>;
}

export interface Watch {
  readonly onDialogues: (count: number) => void;
  readonly signal: AbortSignal | undefined;
}

export interface ShardTask {
  /** Relative to the packed folder. */
  readonly path: string;
  readonly entries: readonly Pick<Entry, "roleId" | "kind" | "place" | "contentSha256" | "fingerprint">[];
}

/** What a hand is opened with; plain data, since it travels to threads. */
export interface HandSetup {
  readonly project: Project;
  readonly loaded: LoadedSpec;
  /** Stop at the first dialogue that would be dropped. */
  readonly strict: boolean;
}

/** Opens the source of a data set for one thread. UserErrors of `openSource`. */
export const openHand = async ({ project, loaded, strict }: HandSetup): Promise<Hand> => {
  const source = await openSource(loaded, project);
  const memory = new ClipMemory();
  const collector = openCollector();
  const assembler = assemblerOf(source, loaded.spec.audio.codec, { memory, collector });
  return {
    survey: async (unit, watch) => surveyUnit(unit, { loaded, source, assembler, watch, strict, memory }),
    write: async (shard, watch) => {
      // What the last row group left, and the checks before it.
      memory.begin();
      memory.releaseEarlier();
      collector.everything();
      const path = join(packedFolder(project, loaded.spec.name), shard.path);
      return writeShard(path, rowsOf(shard, { source, assembler, watch }), loaded.spec.shards, memory);
    },
    close: async () => source.close(),
  };
};

interface Workplace {
  readonly source: DialogueSource;
  readonly assembler: Assembler;
  readonly watch: Watch;
  readonly memory: ClipMemory;
}

// Files are read into memory that is used again; whatever else a clip needs for a moment is counted.
function assemblerOf(
  source: DialogueSource,
  codec: ClipCodec,
  { memory, collector }: { readonly memory: ClipMemory; readonly collector: Collector },
): Assembler {
  const read = lazyClipReader(codec);
  const passed = (bytes: Uint8Array): void => {
    if (!memory.holds(bytes)) collector.passed(MAKING * bytes.length);
  };
  return {
    source: {
      scripts: source.scripts,
      clip: async (clip) => {
        const found = await source.clip(clip, memory.take);
        if (found.outcome === "bytes") passed(found.bytes);
        return found;
      },
    },
    readClip: async (bytes) => {
      const clip = await read(bytes);
      if (clip.outcome === "clip" && clip.bytes !== bytes) passed(clip.bytes);
      return clip;
    },
  };
}

// What is made on the way to the bytes of a clip: text, floats and copies.
const MAKING = 4;

async function surveyUnit(
  unit: string,
  {
    loaded,
    source,
    assembler,
    watch,
    strict,
    memory,
  }: Workplace & { readonly loaded: LoadedSpec; readonly strict: boolean },
): Promise<UnitSurvey> {
  const entries: Entry[] = [];
  const drops: Drop[] = [];
  for await (const found of source.dialogues(unit, watch.signal)) {
    // Files are read without waiting: a wish to stop must get in between.
    await nextTurn();
    watch.signal?.throwIfAborted();
    memory.begin();
    memory.releaseEarlier();
    const result = await inspect(found, assembler, loaded.spec);
    if ("id" in result) entries.push(result);
    else if (strict) throw dialogueBad(result);
    else drops.push(result);
    watch.onDialogues(1);
  }
  return { entries, drops };
}

/** UserError `DIALOGUE_BAD`: a dialogue that would be left out, where that is not wanted. */
export function dialogueBad({ reason, role, dialogue, turn, detail }: Drop): UserError {
  const where = turn === null ? "" : `, turn ${turn + 1}`;
  return new UserError("DIALOGUE_BAD", `${role}, ${dialogue}${where}: ${reason}: ${detail}`, {
    hint: "repair it, or pack without --strict: it is then left out, counted and listed",
  });
}

// Stamps may change where nothing else does, as by a chmod: then the samples decide.
function isUnchanged(result: Assembled, entry: ShardTask["entries"][number]): boolean {
  const isKnown = entry.fingerprint !== null && fingerprint(result) === entry.fingerprint;
  return isKnown || contentSha256(result) === entry.contentSha256;
}

async function* rowsOf(
  { entries }: ShardTask,
  { source, assembler, watch }: Omit<Workplace, "memory">,
): AsyncGenerator<Dialogue> {
  const roles = new Map<string, RoleEntry>(source.roles.map((role) => [role.slug, role]));
  for (const entry of entries) {
    await nextTurn();
    watch.signal?.throwIfAborted();
    const role = roles.get(entry.roleId);
    if (!role) throw new InternalError("ROLE_VANISHED", `${entry.roleId} is no role of the source`);
    const draft = await source.read({ role, kind: entry.kind, place: entry.place });
    const result = await assemble({ role, kind: entry.kind, draft }, assembler);
    if (result.outcome === "bad-clip" || !isUnchanged(result, entry)) {
      throw new UserError("SOURCE_CHANGED", `${entry.place.file} changed while it was being packed`, {
        hint: "run the same command again when nothing writes to the corpus any more",
      });
    }
    yield { ...result.dialogue, contentSha256: entry.contentSha256 };
    watch.onDialogues(1);
  }
}
