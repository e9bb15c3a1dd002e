// Everything that could end a cell, start a tag or an emphasis, or turn into mathematics.
const SPECIAL = /[\\`*_{}[\]<>#|~$&]/g;
// What would turn the first word of a paragraph into a list, a quotation or a heading's line.
const LEADING = /^(?:[-+=]|\d+(?=[.)]))/;

/** Foreign text on one line, without characters that reorder or hide others. */
export const plain = (text: string): string =>
  text.replaceAll(/[\p{Cc}\p{Surrogate}\u2028\u2029\u202a-\u202e\u2066-\u2069]+/gu, " ").trim();

/** The same within a line of Markdown, shown as it is. */
export const inline = (text: string): string => plain(text).replaceAll(SPECIAL, String.raw`\$&`);

/** The same as a paragraph of its own. */
export const paragraph = (text: string): string =>
  inline(text).replace(LEADING, (start) => (/^\d/.test(start) ? `${start}\\` : `\\${start}`));

/** Foreign text as code within a line. */
export const code = (text: string): string => {
  const shown = plain(text).replaceAll("|", "¦");
  const longest = Math.max(0, ...[...shown.matchAll(/`+/g)].map(([ticks]) => ticks.length));
  const fence = "`".repeat(longest + 1);
  return longest === 0 ? `${fence}${shown}${fence}` : `${fence} ${shown} ${fence}`;
};

/** A table; cells are Markdown already. Columns whose title ends in `:` are aligned right. */
export const table = (titles: readonly string[], rows: readonly (readonly string[])[]): string => {
  const line = (cells: readonly string[]): string => `| ${cells.join(" | ")} |`;
  return [
    line(titles.map((title) => title.replace(/:$/, ""))),
    line(titles.map((title) => (title.endsWith(":") ? "---:" : "---"))),
    ...rows.map(line),
  ].join("\n");
};

/** `12,345` */
export const count = (value: number): string => value.toLocaleString("en-US");

/** Hours with one digit where there are few, minutes below one hour. */
export const duration = (seconds: number): string => {
  if (seconds < 3600) return `${(seconds / 60).toFixed(1)} min`;
  const hours = seconds / 3600;
  return `${hours < 100 ? hours.toFixed(1) : count(Math.round(hours))} h`;
};

/** Bytes in decimal units. */
export const size = (bytes: number): string => {
  const units = ["B", "kB", "MB", "GB", "TB"];
  const at = Math.min(units.length - 1, Math.floor(Math.log10(Math.max(1, bytes)) / 3));
  return `${(bytes / 1000 ** at).toFixed(at === 0 ? 0 : 1)} ${units[at] ?? "B"}`;
};
