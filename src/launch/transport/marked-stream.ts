/** Where a stream of bytes stands with respect to its marks. */
export interface MarkedStream {
  /** Takes the next bytes and returns those that lie between the marks. */
  push(chunk: Buffer): Buffer;
  readonly ended: boolean;
}

interface Marks {
  readonly begin: string;
  readonly end: string;
  /** Whether `:STATUS:` follows the end mark. */
  readonly withStatus: boolean;
  /** Asked with all bytes before the begin mark whenever more of them come. */
  readonly onNoise?: (noise: string) => void;
  readonly onEnd?: (status: string) => void;
}

const NOISE_KEPT = 256 * 1024;
// The longest thing that follows an end mark: `:255:`.
const STATUS_LENGTH = 5;

/** Cuts the output of a program out of what else arrives on the same stream. Marks may be torn over chunks. */
export const markedStream = (marks: Marks): MarkedStream => {
  const begin = Buffer.from(marks.begin);
  const end = Buffer.from(marks.end);
  let phase: "before" | "inside" | "behind" | "done" = "before";
  let held: Buffer = Buffer.alloc(0);

  const before = (): void => {
    const found = held.indexOf(begin);
    if (found === -1) {
      if (held.length > NOISE_KEPT) held = held.subarray(-NOISE_KEPT);
      marks.onNoise?.(held.toString("latin1"));
      return;
    }
    marks.onNoise?.(held.toString("latin1", 0, found));
    held = held.subarray(found + begin.length);
    phase = "inside";
  };
  const inside = (): Buffer => {
    const found = held.indexOf(end);
    const cut = found === -1 ? held.length - begun(held, end) : found;
    const body = held.subarray(0, cut);
    held = held.subarray(found === -1 ? cut : cut + end.length);
    if (found !== -1) phase = "behind";
    return body;
  };
  const behind = (): void => {
    const status = /^:(\d+):/.exec(held.toString("latin1", 0, STATUS_LENGTH))?.[1];
    if (marks.withStatus && status === undefined) return;
    phase = "done";
    marks.onEnd?.(status ?? "");
  };

  return {
    push: (chunk) => {
      if (phase === "done") return Buffer.alloc(0);
      held = held.length === 0 ? chunk : Buffer.concat([held, chunk]);
      if (isPhase(phase, "before")) before();
      const body = isPhase(phase, "inside") ? inside() : Buffer.alloc(0);
      if (isPhase(phase, "behind")) behind();
      return body;
    },
    get ended() {
      return phase === "done";
    },
  };
};

// How many bytes at the end of `held` may be the start of the mark: those wait for the next chunk.
function begun(held: Buffer, mark: Buffer): number {
  for (let length = Math.min(held.length, mark.length - 1); length > 0; length -= 1) {
    if (held.compare(mark, 0, length, held.length - length) === 0) return length;
  }
  return 0;
}

// The phase changes between two questions, which the compiler cannot see.
const isPhase = (phase: string, expected: string): boolean => phase === expected;
