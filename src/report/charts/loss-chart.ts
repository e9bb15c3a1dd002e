import { fixed } from "../format.ts";
import type { ReportModel } from "../model.ts";
import { COLOURS, FONT_SIZE, valueAxis } from "./axes.ts";
import type { Chart, ChartSize } from "./render-chart.ts";

/** Training and dev loss by step; a ring is a checkpoint, and the compared ones carry their name. */
export const lossChart = (model: ReportModel): Chart | null => {
  const { train, dev } = model.losses;
  if (train.length + dev.length === 0) return null;
  return {
    name: "loss",
    description: describe(model),
    wide: { width: 920, height: 330 },
    narrow: { width: 340, height: 300 },
    option: (size) => ({
      grid: { left: 56, right: size.width > 500 ? 28 : 16, top: 30, bottom: 48 },
      xAxis: { ...valueAxis("optimizer step", 0), nameGap: 30, splitLine: { show: false }, min: 0 },
      yAxis: { ...valueAxis("nats/token", 2), nameGap: 42 },
      series: [curve(train, COLOURS.muted), curve(dev, COLOURS.chosen), marks(model, size)],
    }),
  };
};

const curve = (points: readonly (readonly [number, number])[], color: string): object => ({
  type: "line",
  silent: true,
  symbol: "none",
  data: points,
  lineStyle: color === COLOURS.chosen ? { color, width: 2.25 } : { color, width: 1.25, opacity: 0.6 },
  z: color === COLOURS.chosen ? 3 : 2,
});

interface Mark {
  readonly value: readonly [number, number];
  readonly label: string;
}

function marks(model: ReportModel, size: ChartSize): object {
  const points = marksOf(model);
  return {
    type: "scatter",
    silent: true,
    z: 5,
    symbolSize: 9,
    data: points.map((mark) => ({
      value: mark.value,
      itemStyle: {
        color: mark.label === "" ? COLOURS.paper : COLOURS.chosen,
        borderColor: COLOURS.chosen,
        borderWidth: 1.75,
        opacity: 1,
      },
      label: {
        show: mark.label !== "",
        formatter: () => mark.label,
        color: COLOURS.ink,
        fontSize: FONT_SIZE,
        opacity: 1,
        ...labelPlace(mark, points, size),
      },
    })),
  };
}

// Labels near an edge hang to the inside; of two close neighbours the later one goes below.
function labelPlace({ value: [step], label }: Mark, points: readonly Mark[], { width }: ChartSize): object {
  const highest = Math.max(...points.map(({ value }) => value[0]), 1);
  const edge = width > 500 ? 0.85 : 0.6;
  const share = step / highest;
  const others = points.filter((mark) => mark.label !== "" && mark.label !== label);
  const near = width > 500 ? 0.45 : 2;
  const crowded = others.some(({ value }) => value[0] < step && (step - value[0]) / highest < near);
  return {
    position: crowded ? "bottom" : "top",
    distance: 9,
    align: share > edge ? "right" : share < 1 - edge ? "left" : "center",
    textBorderColor: COLOURS.paper,
    textBorderWidth: 4,
  };
}

function marksOf({ checkpoints, systems, comparison }: ReportModel): readonly Mark[] {
  const compared = systems.filter(({ id }) => id === comparison.chosen || id === comparison.last);
  return checkpoints.flatMap(({ step, devLoss }) =>
    devLoss === null ? [] : [{ value: [step, devLoss], label: labelAt(step, compared) }],
  );
}

// By step: a checkpoint's digest is of its files, a system's is of its files on a base model.
const labelAt = (step: number, compared: ReportModel["systems"]): string =>
  [...new Set(compared.filter((system) => system.step === step).map(({ label }) => label))].join(" = ");

function describe({ losses, checkpoints }: ReportModel): string {
  const ends = (points: readonly (readonly [number, number])[]): string => {
    const [first, last] = [points[0], points.at(-1)];
    return first && last ? `from ${fixed(first[1], 2)} to ${fixed(last[1], 2)}` : "not recorded";
  };
  return `Loss by step. Training loss ${ends(losses.train)}, dev loss ${ends(losses.dev)} nats per token; ${checkpoints.length} checkpoints. The values are in the table below.`;
}
