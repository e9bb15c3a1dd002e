import { type Html, raw } from "../../core/html.ts";
import { escapeHtml } from "../../core/html.ts";

export interface ChartSize {
  readonly width: number;
  readonly height: number;
}

/** One drawing in both layouts: the style sheet shows the one that fits. */
export interface Chart {
  readonly name: string;
  /** What a reader who cannot see it should know. */
  readonly description: string;
  readonly wide: ChartSize;
  readonly narrow: ChartSize;
  readonly option: (size: ChartSize) => object;
}

/** The two methods of ECharts that we call. */
interface Drawing {
  setOption(option: object): void;
  renderToSVGString(): string;
  dispose(): void;
}
export type Draw = (size: ChartSize) => Drawing;

/** ECharts on the server, loaded when the first chart is drawn. */
export const loadEcharts = async (): Promise<Draw> => {
  const [core, charts, components, renderers] = await Promise.all([
    import("echarts/core"),
    import("echarts/charts"),
    import("echarts/components"),
    import("echarts/renderers"),
  ]);
  core.use([charts.LineChart, charts.ScatterChart, components.GridComponent, components.TitleComponent]);
  core.use([components.MarkLineComponent, renderers.SVGRenderer]);
  return (size) => core.init(null, null, { renderer: "svg", ssr: true, ...size });
};

/** Both layouts as inline SVG. The same chart gives the same bytes, however many were drawn before. */
export const renderChart = (chart: Chart, draw: Draw): Html =>
  raw(
    [
      svgOf(chart, draw, { layout: "wide", size: chart.wide }),
      svgOf(chart, draw, { layout: "narrow", size: chart.narrow }),
    ].join("\n"),
  );

function svgOf(
  { name, description, option }: Chart,
  draw: Draw,
  { layout, size }: { readonly layout: "wide" | "narrow"; readonly size: ChartSize },
): string {
  const drawing = draw(size);
  try {
    drawing.setOption({ animation: false, textStyle: { fontFamily: "inherit" }, ...option(size) });
    const opening = `<svg class="chart ${layout}" role="img" aria-label="${escapeHtml(description)}" viewBox="0 0 ${size.width} ${size.height}" width="${size.width}" height="${size.height}">`;
    return cleaned(drawing.renderToSVGString(), `${name}-${layout}`).replace(/^<svg[^>]*>/, opening);
  } finally {
    drawing.dispose();
  }
}

// The library numbers ids by how many charts it has drawn, and adds hover styles and data for its own scripts.
function cleaned(svg: string, prefix: string): string {
  return svg
    .replace(/<style >[\s\S]*?<\/style>/g, "")
    .replace(/ class="zr\d+-cls-\d+"/g, "")
    .replace(/ ecmeta_[a-z_]+="[^"]*"/g, "")
    .replace(/ pointer-events="[^"]*"/g, "")
    .replace(/zr\d+-/g, `${prefix}-`)
    .trim();
}
