import { fixed } from "../format.ts";

/** Colours are variables of the style sheet, so that one drawing fits both schemes. */
export const COLOURS = {
  ink: "var(--ink)",
  muted: "var(--muted)",
  line: "var(--line)",
  seen: "var(--seen)",
  unseen: "var(--unseen)",
  chosen: "var(--accent)",
  paper: "var(--paper)",
} as const;

export const FONT_SIZE = 12;

/** A quiet value axis with its name at the end. */
export const valueAxis = (name: string, digits: number): object => ({
  type: "value",
  name,
  nameLocation: "middle",
  nameTextStyle: { color: COLOURS.muted, fontSize: FONT_SIZE },
  scale: true,
  axisLine: { show: false },
  axisTick: { show: false },
  axisLabel: {
    color: COLOURS.muted,
    fontSize: FONT_SIZE,
    formatter: (value: number) => fixed(value, digits),
  },
  splitLine: { lineStyle: { color: COLOURS.line } },
});
