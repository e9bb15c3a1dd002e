import { rejected, type Rejected, type WavNote } from "./result.ts";

/** The two chunks that matter, as byte ranges of the file. */
export interface Chunks {
  readonly outcome: "chunks";
  readonly littleEndian: boolean;
  readonly format: Range;
  readonly data: Range;
  readonly notes: readonly WavNote[];
}

export interface Range {
  readonly start: number;
  readonly end: number;
}

interface Walk {
  readonly view: DataView;
  readonly littleEndian: boolean;
  readonly notes: Set<WavNote>;
  /** Size of the data chunk by ds64, for RF64 and BW64. */
  longDataSize: bigint | undefined;
  format: Range | undefined;
  data: Range | undefined;
}

const HEADER = 8;
// Pipes cannot go back to fill in the size; they leave -1 or the greatest signed size minus a header.
const STREAMING_SIZE = 0x7fff_f000;
const UNKNOWN_SIZE = 0xffff_ffff;
const LONG_STREAMING_SIZE = 0x7fff_ffff_ffff_f000n;
const KNOWN = new Set(
  "fmt |data|LIST|list|fact|JUNK|junk|PAD |FLLR|bext|id3 |ID3 |cue |smpl|inst|iXML|axml|chna|PEAK|DISP|ds64|plst|note|labl|cart|umid|levl|minf|elm1|regn".split(
    "|",
  ),
);

/**
 * Walks all chunks of a RIFF, RIFX, RF64 or BW64 file, in whatever order they come. The RIFF size is not trusted; sizes
 * are checked against the bytes that are there. Source of the cases: files seen in the wild, see the tests.
 */
export const walkChunks = (bytes: Uint8Array): Chunks | Rejected => {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const id = fourCc(view, 0);
  const littleEndian = id !== "RIFX";
  const walk: Walk = {
    view,
    littleEndian,
    notes: new Set(),
    longDataSize: undefined,
    format: undefined,
    data: undefined,
  };
  const isLong = id === "RF64" || id === "BW64";
  if (!isLong && view.getUint32(4, littleEndian) + HEADER !== view.byteLength)
    walk.notes.add("wrong_riff_size");
  const fault = walkAll(walk);
  if (fault) return fault;
  if (!walk.format) return rejected("broken_header", "the file has no fmt chunk");
  if (!walk.data) return rejected("broken_header", "the file has no data chunk");
  return {
    outcome: "chunks",
    littleEndian,
    format: walk.format,
    data: walk.data,
    notes: [...walk.notes].toSorted(),
  };
};

function walkAll(walk: Walk): Rejected | undefined {
  for (let offset = 12; offset + HEADER <= walk.view.byteLength;) {
    const id = fourCc(walk.view, offset);
    const size = walk.view.getUint32(offset + 4, walk.littleEndian);
    const start = offset + HEADER;
    const range = id === "data" ? dataRange(walk, start, size) : plainRange(walk, id, { start, size });
    if ("outcome" in range) {
      // With format and samples in hand, rubbish behind them is of no concern.
      if (walk.format && walk.data) return note(walk, "tail_ignored");
      return range;
    }
    remember(walk, id, range);
    offset = nextOffset(walk, range);
  }
  return undefined;
}

function remember(walk: Walk, id: string, range: Range): void {
  if (id === "fmt ") walk.format ??= range;
  else if (id === "data") walk.data ??= range;
  else if (id === "ds64" && range.end - range.start >= 16)
    walk.longDataSize = walk.view.getBigUint64(range.start + 8, walk.littleEndian);
}

function plainRange(
  walk: Walk,
  id: string,
  { start, size }: { readonly start: number; readonly size: number },
): Range | Rejected {
  if (start + size <= walk.view.byteLength) return { start, end: start + size };
  const name = /^[\x20-\x7e]{4}$/.test(id) ? `"${id}"` : "with an unreadable name";
  return rejected(
    "broken_header",
    `the chunk ${name} at byte ${start - HEADER} says ${size} bytes but only ${walk.view.byteLength - start} follow`,
  );
}

function dataRange(walk: Walk, start: number, size: number): Range | Rejected {
  const end = walk.view.byteLength;
  const present = end - start;
  const declared =
    walk.longDataSize !== undefined && size === UNKNOWN_SIZE ? walk.longDataSize : BigInt(size);
  if (declared <= BigInt(present) && !(declared === 0n && runsToTheEnd(walk, start))) {
    return { start, end: start + Number(declared) };
  }
  const isStreaming =
    walk.longDataSize === undefined ? size >= STREAMING_SIZE : declared >= LONG_STREAMING_SIZE;
  if (declared === 0n || isStreaming) {
    walk.notes.add("streaming_header");
    return { start, end };
  }
  return rejected(
    "truncated",
    `the audio is cut off: its header says ${declared} bytes of samples but only ${present} are there`,
  );
}

// A size of zero with no further chunk behind it: the writer never came back to fill it in.
function runsToTheEnd(walk: Walk, start: number): boolean {
  return start < walk.view.byteLength && !KNOWN.has(fourCc(walk.view, start));
}

// Chunks are padded to even length, but some writers forget the pad byte.
function nextOffset(walk: Walk, { start, end }: Range): number {
  const aligned = end + ((end - start) & 1);
  if (aligned === end || KNOWN.has(fourCc(walk.view, aligned)) || !KNOWN.has(fourCc(walk.view, end)))
    return aligned;
  walk.notes.add("missing_pad_byte");
  return end;
}

function note(walk: Walk, value: WavNote): undefined {
  walk.notes.add(value);
}

function fourCc(view: DataView, offset: number): string {
  if (offset + 4 > view.byteLength) return "";
  return String.fromCharCode(
    view.getUint8(offset),
    view.getUint8(offset + 1),
    view.getUint8(offset + 2),
    view.getUint8(offset + 3),
  );
}
