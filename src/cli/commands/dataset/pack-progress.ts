import type { PackProgress } from "../../../dataset/index.ts";
import type { Clock } from "../../../core/clock.ts";
import type { Printer } from "../../print.ts";
import { countText, secondsText } from "../../quantities.ts";

const WORDS: Readonly<Record<PackProgress["phase"], string>> = {
  check: "checking",
  compare: "comparing",
  write: "packing",
};
const BAR = 20;
// Fast enough for the eye; a line for each of thousands of dialogues would cost more than the dialogue.
const EVERY = 100;
// The rate is that of the last seconds: shards that are there already go by at once and tell nothing about the rest.
const WINDOW = 20_000;
const SHORTEST = 1_000;

interface Mark {
  readonly at: number;
  readonly done: number;
}

/** Shows how a pack goes on, on one line of a terminal: how much of how many, how fast, and how long it still takes. */
export const showPackProgress = (
  { print, clock }: { readonly print: Pick<Printer, "progress">; readonly clock: Pick<Clock, "now"> },
  name: string,
): ((progress: PackProgress) => void) => {
  let phase: PackProgress["phase"] | undefined;
  let marks: Mark[] = [];
  let shown = -Infinity;
  return (progress) => {
    const at = clock.now();
    if (progress.phase !== phase) {
      phase = progress.phase;
      marks = [{ at, done: progress.done }];
      shown = -Infinity;
    }
    if (Math.abs(at - shown) < EVERY && progress.done !== progress.total) return;
    shown = at;
    marks = [...marks.filter((mark) => at - mark.at <= WINDOW), { at, done: progress.done }];
    print.progress(progressText(name, progress, rateOf(marks)));
  };
};

// Dialogues a second, once there is something to tell it from.
function rateOf(marks: readonly Mark[]): number | undefined {
  const [first] = marks;
  const last = marks.at(-1);
  if (!first || !last || last.at - first.at < SHORTEST || last.done === first.done) return undefined;
  return ((last.done - first.done) * 1000) / (last.at - first.at);
}

/** `packing small  ███████─────────────  1,200 of 3,600 dialogues, 80/s, 30 s left` */
export const progressText = (
  name: string,
  { phase, done, total, share = 0 }: PackProgress,
  rate: number | undefined,
): string => {
  const speed = rate === undefined ? "" : `, ${rate < 10 ? rate.toFixed(1) : countText(Math.round(rate))}/s`;
  const expected = total ?? (share > 0 ? done / share : null);
  if (expected === null) return `${WORDS[phase]} ${name}  ${countText(done)} dialogues${speed}`;
  const filled = expected === 0 ? BAR : Math.min(BAR, Math.floor((done / expected) * BAR));
  const left =
    rate === undefined || done >= expected ? "" : `, ${secondsText((expected - done) / rate)} left`;
  const count =
    total === null
      ? `${countText(done)} dialogues, about ${Math.round(share * 100)} %`
      : `${countText(done)} of ${countText(total)} dialogues`;
  return `${WORDS[phase]} ${name}  ${"█".repeat(filled)}${"─".repeat(BAR - filled)}  ${count}${speed}${left}`;
};
