import type { Sink, World } from "./world.ts";

/** Emphasis for a terminal; plain text everywhere else. */
export interface Style {
  readonly bold: (text: string) => string;
  readonly red: (text: string) => string;
  readonly yellow: (text: string) => string;
}

const sgr =
  (open: number, close: number) =>
  (text: string): string =>
    `\u001b[${open}m${text}\u001b[${close}m`;

const COLOURED: Style = { bold: sgr(1, 22), red: sgr(31, 39), yellow: sgr(33, 39) };

const same = (text: string): string => text;
const PLAIN: Style = { bold: same, red: same, yellow: same };

/** Colours on a terminal unless NO_COLOR (any value but empty, see no-color.org) or a dumb terminal asks for none. */
export const styleFor = (sink: Sink, environment: World["environment"]): Style =>
  sink.isTerminal && !environment["NO_COLOR"] && environment["TERM"] !== "dumb" ? COLOURED : PLAIN;
