import { type Cell, cellKey } from "../cell.ts";
import { GAIN } from "../generalisation-cells.ts";
import type { ReportModel } from "../model.ts";
import { COLOURS, FONT_SIZE, valueAxis } from "./axes.ts";
import type { Chart, ChartSize } from "./render-chart.ts";

const ROW = 20;
const MARGIN = { top: 34, bottom: 58, label: 132 };
const MEAN = "mean of roles";

interface Panel {
  readonly title: string;
  readonly color: string;
  readonly rows: readonly { readonly name: string; readonly gain: number }[];
  readonly mean: Cell | undefined;
}

/** Each role's gain against the base model, seen beside unseen on one scale, with the mean and its interval on top. */
export const roleChart = (model: ReportModel, pair: string): Chart | null => {
  const panels = [
    panelOf(model, pair, { suite: "test/seen", title: "Seen roles", color: COLOURS.seen }),
    panelOf(model, pair, { suite: "test/unseen", title: "Unseen roles", color: COLOURS.unseen }),
  ].filter(({ rows }) => rows.length > 0);
  if (panels.length === 0) return null;
  const heights = panels.map(heightOf);
  return {
    name: "roles",
    description: `Gain in nats per token by role: ${panels.map(({ title, rows }) => `${rows.length} ${title.toLowerCase()}`).join(", ")}. The values are in the table below.`,
    wide: { width: 920, height: Math.max(...heights) },
    narrow: { width: 340, height: heights.reduce((sum, height) => sum + height, 0) },
    option: (size) => optionOf(panels, size),
  };
};

const heightOf = ({ rows }: Panel): number => MARGIN.top + (rows.length + 1) * ROW + MARGIN.bottom;

function panelOf(
  { cells, roles }: ReportModel,
  pair: string,
  { suite, title, color }: { readonly suite: string; readonly title: string; readonly color: string },
): Panel {
  const names = new Map(roles.map(({ id, name }) => [id, name]));
  const rows = cells
    .filter((cell) => cell.table === "role" && cell.system === pair && cell.suite === suite)
    .flatMap(({ outcome, estimate }) =>
      estimate === null ? [] : [{ name: names.get(outcome) ?? outcome, gain: estimate }],
    )
    .toSorted((a, b) => b.gain - a.gain || (a.name < b.name ? -1 : 1));
  const key = cellKey({ table: "generalisation", system: pair, suite, outcome: GAIN });
  return { title, color, rows, mean: cells.find((cell) => cell.key === key) };
}

function optionOf(panels: readonly Panel[], size: ChartSize): object {
  const beside = size.width > 500;
  const { low, high, step } = rangeOf(panels);
  const columns = beside ? panels.length : 1;
  const places = panels.map((panel, index) => ({
    left: (beside ? (index * size.width) / columns : 0) + MARGIN.label,
    top: (beside ? 0 : heightsBefore(panels, index)) + MARGIN.top,
    width: size.width / columns - MARGIN.label - 20,
    height: (panel.rows.length + 1) * ROW,
  }));
  return {
    title: panels.map(({ title, color }, index) => ({
      text: title,
      left: places[index]?.left ?? 0,
      top: (places[index]?.top ?? MARGIN.top) - 30,
      padding: 0,
      textStyle: { color, fontSize: 13, fontWeight: 600 },
    })),
    grid: places,
    xAxis: panels.map((_, index) => ({
      ...valueAxis("gain, nats/token", 2),
      gridIndex: index,
      nameGap: 28,
      min: low,
      max: high,
      interval: step,
    })),
    yAxis: panels.map(({ rows }, index) => ({
      type: "category",
      gridIndex: index,
      inverse: true,
      data: [MEAN, ...rows.map(({ name }) => name)],
      axisLine: { show: false },
      axisTick: { show: false },
      axisLabel: {
        color: COLOURS.ink,
        fontSize: FONT_SIZE,
        interval: 0,
        width: MARGIN.label - 14,
        overflow: "truncate",
      },
    })),
    series: panels.flatMap((panel, index) => seriesOf(panel, index)),
  };
}

function seriesOf({ rows, mean, color }: Panel, index: number): readonly object[] {
  const axes = { xAxisIndex: index, yAxisIndex: index, silent: true };
  const zero = {
    symbol: "none",
    silent: true,
    label: { show: false },
    lineStyle: { color: COLOURS.muted, type: "solid", width: 1 },
    data: [{ xAxis: 0 }],
  };
  const dots = {
    ...axes,
    type: "scatter",
    symbolSize: 8,
    itemStyle: { color, opacity: 0.85 },
    data: rows.map(({ gain }, row) => [gain, row + 1]),
    markLine: zero,
  };
  if (mean?.estimate === undefined || mean.estimate === null) return [dots];
  const diamond = {
    ...axes,
    type: "scatter",
    symbol: "diamond",
    symbolSize: 13,
    itemStyle: { color, opacity: 1 },
    data: [[mean.estimate, 0]],
    z: 4,
  };
  const interval = {
    ...axes,
    type: "line",
    symbol: "none",
    lineStyle: { color, width: 2.5 },
    data: [
      [mean.lo ?? mean.estimate, 0],
      [mean.hi ?? mean.estimate, 0],
    ],
  };
  return [dots, interval, diamond];
}

// Round steps, four to eight of them, and ends that are whole steps: labels never collide.
function rangeOf(panels: readonly Panel[]): {
  readonly low: number;
  readonly high: number;
  readonly step: number;
} {
  const values = panels.flatMap(({ rows, mean }) => [
    0,
    ...rows.map(({ gain }) => gain),
    ...(mean ? [mean.lo ?? 0, mean.hi ?? 0] : []),
  ]);
  const [low, high] = [Math.min(...values), Math.max(...values)];
  const rough = (high - low || 1) / 4;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = power * ([1, 2, 5].find((factor) => factor * power >= rough) ?? 10);
  return { low: Math.floor(low / step) * step, high: Math.ceil(high / step) * step, step };
}

const heightsBefore = (panels: readonly Panel[], index: number): number =>
  panels.slice(0, index).reduce((sum, panel) => sum + heightOf(panel), 0);
