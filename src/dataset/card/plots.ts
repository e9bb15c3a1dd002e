import { openChartFiles, type ChartFile } from "../../core/chart-svg.ts";
import { plain } from "./markdown.ts";
import { SPLITS, type DatasetLock, type LockedRole, type Split } from "../schema.ts";

/** A drawing beside the card. */
export interface CardPlot {
  /** Relative to the card. */
  readonly path: string;
  readonly svg: string;
}

const WIDTH = 860;
const INK = "#1f2328";
const MUTED = "#59636e";
const LINE = "#d1d9e0";
const COLOURS: Readonly<Record<Split, string>> = {
  train: "#2f6fab",
  dev: "#8fb8de",
  ood: "#d98324",
  test: "#5b8c5a",
};
const VOICES = { user: "#6b5b95", role: "#2f6fab" } as const;
const LANGUAGE_NAMES = { en: "English", zh: "Chinese" } as const;
const ROW = 18;

/** The drawings of a card: lengths of clips, dialogues of each role, languages. The same lock gives the same bytes. */
export const drawPlots = async (lock: DatasetLock): Promise<readonly CardPlot[]> => {
  const draw = await openChartFiles();
  return [
    { path: "card/durations.svg", svg: draw(durations(lock)) },
    { path: "card/roles.svg", svg: draw(roles(lock)) },
    { path: "card/languages.svg", svg: draw(languages(lock)) },
  ];
};

function durations({ statistics: { secondsPerClip } }: DatasetLock): ChartFile {
  const { user, role } = secondsPerClip;
  const longest = Math.max(user.length, role.length, 1);
  const seconds = Array.from({ length: longest }, (_, at) => String(at));
  const panel = (index: number): object => ({
    gridIndex: index,
    ...QUIET,
  });
  return {
    width: WIDTH,
    height: 300,
    description: `Clips by length in seconds: ${total(user)} of users, ${total(role)} of roles`,
    option: {
      title: [titled("users' clips", VOICES.user, 60), titled("roles' clips", VOICES.role, 490)],
      grid: [
        { left: 60, top: 40, width: 350, bottom: 50 },
        { left: 490, top: 40, width: 350, bottom: 50 },
      ],
      xAxis: [0, 1].map((index) => ({
        ...panel(index),
        type: "category",
        data: seconds,
        name: "seconds",
        nameLocation: "middle",
        nameGap: 28,
        nameTextStyle: { color: MUTED },
      })),
      yAxis: [0, 1].map((index) => ({
        ...panel(index),
        type: "value",
        minInterval: 1,
        splitLine: { lineStyle: { color: LINE } },
      })),
      series: [user, role].map((counts, index) => ({
        type: "bar",
        silent: true,
        xAxisIndex: index,
        yAxisIndex: index,
        barCategoryGap: "10%",
        itemStyle: { color: index === 0 ? VOICES.user : VOICES.role },
        data: seconds.map((_, at) => counts[at] ?? 0),
      })),
    },
  };
}

function roles({ roles: all }: DatasetLock): ChartFile {
  const rowsOf = (role: LockedRole): number => total(Object.values(role.rows));
  const sorted = all.toSorted((a, b) => rowsOf(b) - rowsOf(a) || (a.id < b.id ? -1 : 1));
  return {
    ...stacked(
      sorted.map((role) => ({ name: `${plain(role.name)}${role.heldOut ? " ○" : ""}`, rows: role.rows })),
      150,
    ),
    description: `Dialogues of each of ${all.length} roles by split; a ring marks a held-out role. The numbers are in the table of roles`,
  };
}

function languages({ statistics }: DatasetLock): ChartFile {
  const present = (["en", "zh"] as const).filter((language) => statistics.languages[language]?.roles);
  const rows = present.flatMap((language) => {
    const found = statistics.languages[language];
    return found ? [{ name: LANGUAGE_NAMES[language], rows: found.rows }] : [];
  });
  return { ...stacked(rows, 80), description: "Dialogues of each language by split" };
}

function stacked(
  rows: readonly { readonly name: string; readonly rows: Readonly<Record<Split, number>> }[],
  left: number,
): ChartFile {
  return {
    width: WIDTH,
    height: 90 + Math.max(rows.length, 1) * ROW,
    description: "",
    option: {
      legend: { top: 8, left, data: [...SPLITS], textStyle: { color: INK }, itemWidth: 12, itemHeight: 12 },
      grid: { left, right: 30, top: 40, bottom: 40 },
      xAxis: { type: "value", minInterval: 1, ...QUIET, splitLine: { lineStyle: { color: LINE } } },
      yAxis: {
        type: "category",
        inverse: true,
        data: rows.map(({ name }) => name),
        ...QUIET,
        axisLabel: { color: INK, interval: 0, width: left - 14, overflow: "truncate", fontSize: 11 },
      },
      series: SPLITS.map((split) => ({
        type: "bar",
        name: split,
        silent: true,
        stack: "all",
        itemStyle: { color: COLOURS[split] },
        data: rows.map((row) => row.rows[split]),
      })),
    },
  };
}

const QUIET = {
  axisLine: { show: false },
  axisTick: { show: false },
  axisLabel: { color: MUTED },
} as const;

const titled = (text: string, color: string, left: number): object => ({
  text,
  left,
  top: 8,
  padding: 0,
  textStyle: { color, fontSize: 13, fontWeight: 600 },
});

const total = (counts: readonly number[]): number => counts.reduce((sum, value) => sum + value, 0);
