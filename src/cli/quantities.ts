/** `12,345` */
export const countText = (value: number): string => value.toLocaleString("en-US");

const UNITS = ["B", "kB", "MB", "GB", "TB"] as const;

/** Bytes in decimal units, as disks are sold: `8.5 MB`. */
export const bytesText = (bytes: number): string => {
  const at = Math.min(UNITS.length - 1, Math.max(0, Math.floor(Math.log10(Math.max(1, bytes)) / 3)));
  const value = bytes / 1000 ** at;
  return `${at === 0 || value >= 100 ? value.toFixed(0) : value.toFixed(1)} ${UNITS[at] ?? "B"}`;
};

/** Seconds as people say them: `42 s`, `8 min 54 s`, `15 h 3 min`. */
export const secondsText = (seconds: number): string => {
  const whole = Math.round(seconds);
  if (whole < 60) return `${whole} s`;
  const minutes = Math.floor(whole / 60);
  if (minutes < 60) return `${minutes} min ${whole % 60} s`;
  return `${countText(Math.floor(minutes / 60))} h ${minutes % 60} min`;
};
