import type { Secrets } from "../core/secrets.ts";
import { spoken } from "./program-name.ts";
import { styleFor, type Style } from "./style.ts";
import { cutText } from "./text-width.ts";
import { visible, visibleForeign } from "./visible.ts";
import type { World } from "./world.ts";

/** How commands speak. Under `--json` only `result` prints, and prints one JSON document. */
export interface Printer {
  readonly json: boolean;
  readonly style: Style;
  /** What a command found: a value for `--json`, lines for people. */
  result(value: unknown, lines: () => readonly string[]): void;
  /** A line for people while a command works. */
  line(text: string): void;
  /** Text that is not ours, for people: as it is, but for secrets and control characters. */
  quote(text: string): void;
  /** A line for people on stderr that must not be missed; commands put it into their JSON as well. */
  warn(text: string): void;
  /** A line for people on stderr, beside what a command is for. */
  note(text: string): void;
  /**
   * What goes on right now, on one line of stderr that the next text replaces. Where none can be replaced (a log), a line now
   * and then, the rarer the longer the command works; none for what is `passing`, and of no interest afterwards.
   */
  progress(text: string, options?: { readonly passing?: boolean }): void;
}

const CLEAR_LINE = "\r\u001b[K";
// In a log: after a minute, then whenever a tenth of the time so far has passed: 20 lines in half an hour, under 60 in a day.
const LOG_EVERY = 60_000;
const LOG_SHARE = 0.1;

/** A printer over the world's sinks; every text is masked for secrets, and its control characters are made visible. */
export const printerFor = (world: World, secrets: Secrets, json: boolean): Printer => {
  const style = styleFor(world.stdout, world.environment);
  const errorStyle = styleFor(world.stderr, world.environment);
  let showing = false;
  const clear = (): void => {
    if (showing) world.stderr.write(CLEAR_LINE);
    showing = false;
  };
  const isDue = dueIn(world.clock);
  const canReplace = world.stderr.isTerminal && world.environment["TERM"] !== "dumb";
  const out = (text: string): void => {
    clear();
    world.stdout.write(`${visible(secrets.mask(text))}\n`);
  };
  const ours = (text: string): string => spoken(text, world.program);
  return {
    json,
    style,
    result: (value, lines) => {
      if (json) out(JSON.stringify(value, null, 2));
      else for (const text of lines()) out(ours(text));
    },
    line: (text) => {
      if (!json) out(ours(text));
    },
    quote: (text) => {
      if (!json) out(text);
    },
    warn: (text) => {
      if (json) return;
      clear();
      world.stderr.write(`${errorStyle.yellow("warning:")} ${visibleForeign(secrets.mask(ours(text)))}\n`);
    },
    note: (text) => {
      if (json) return;
      clear();
      world.stderr.write(`${visibleForeign(secrets.mask(ours(text)))}\n`);
    },
    progress: (text, { passing = false } = {}) => {
      if (json) return;
      clear();
      if (text === "") return;
      const line = visibleForeign(secrets.mask(text)).replaceAll("\n", " ");
      if (!canReplace) {
        if (!passing && isDue()) world.stderr.write(`${line}\n`);
        return;
      }
      world.stderr.write(cutText(line, Math.max(1, world.stderr.width - 1)));
      showing = true;
    },
  };
};

function dueIn(clock: World["clock"]): () => boolean {
  let begun: number | undefined;
  let told = 0;
  return () => {
    const now = clock.now();
    // A clock may be set back.
    if (begun === undefined || now < told) begun = told = now;
    if (now - told < Math.max(LOG_EVERY, (now - begun) * LOG_SHARE)) return false;
    told = now;
    return true;
  };
}
