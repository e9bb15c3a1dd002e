/** A drawing as a file of its own. */
export interface ChartFile {
  readonly width: number;
  readonly height: number;
  /** What a reader who cannot see it should know. */
  readonly description: string;
  /** ECharts. */
  readonly option: object;
}

/** The methods of ECharts that we call. */
interface Drawing {
  setOption(option: object): void;
  renderToSVGString(): string;
  dispose(): void;
}

/**
 * ECharts on the server, for bar charts that stand alone: on white, since the page around is not ours. Equal charts give
 * equal bytes, however many were drawn before.
 */
export const openChartFiles = async (): Promise<(chart: ChartFile) => string> => {
  const [core, charts, components, renderers] = await Promise.all([
    import("echarts/core"),
    import("echarts/charts"),
    import("echarts/components"),
    import("echarts/renderers"),
  ]);
  core.use([charts.BarChart, components.GridComponent, components.TitleComponent]);
  core.use([components.LegendComponent, renderers.SVGRenderer]);
  return (chart) => {
    const { width, height } = chart;
    return svgOf(chart, core.init(null, null, { renderer: "svg", ssr: true, width, height }));
  };
};

function svgOf({ width, height, description, option }: ChartFile, drawing: Drawing): string {
  try {
    drawing.setOption({ animation: false, backgroundColor: "#ffffff", ...option });
    const opening = `<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" role="img" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}">\n<title>${escaped(description)}</title>`;
    return `${withoutTraces(drawing.renderToSVGString()).replace(/^<svg[^>]*>/, () => opening)}\n`;
  } finally {
    drawing.dispose();
  }
}

// The library numbers ids by how many charts it has drawn, and adds hover styles and data for its own scripts.
function withoutTraces(svg: string): string {
  return svg
    .replace(/<style >[\s\S]*?<\/style>/g, "")
    .replace(/ class="zr\d+-cls-\d+"/g, "")
    .replace(/ ecmeta_[a-z_]+="[^"]*"/g, "")
    .replace(/ pointer-events="[^"]*"/g, "")
    .replace(/zr\d+-/g, "chart-")
    .trim();
}

const escaped = (text: string): string =>
  text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
