const UNLIMITED = /^(UNLIMITED|INFINITE)$/i;

/**
 * Seconds of a Slurm time: `MINUTES`, `MINUTES:SECONDS`, `HOURS:MINUTES:SECONDS`, `DAYS-HOURS`, `DAYS-HOURS:MINUTES`,
 * `DAYS-HOURS:MINUTES:SECONDS`. Null: no limit. Undefined: not a time.
 */
export const slurmSeconds = (text: string): number | null | undefined => {
  const trimmed = text.trim();
  if (UNLIMITED.test(trimmed)) return null;
  const match = /^(?:(\d+)-)?(\d+)(?::(\d+))?(?::(\d+))?$/.exec(trimmed);
  if (match === null) return undefined;
  const [, days, ...rest] = match;
  const [first = 0, second, third] = rest.map((part) => (part === undefined ? undefined : Number(part)));
  if (days !== undefined) return Number(days) * 86_400 + first * 3600 + (second ?? 0) * 60 + (third ?? 0);
  if (third !== undefined) return first * 3600 + (second ?? 0) * 60 + third;
  return first * 60 + (second ?? 0);
};

/** Seconds since the epoch, as printed with SLURM_TIME_FORMAT=%s; null for `Unknown`, `None`, `N/A` and anything else. */
export const slurmMoment = (text: string): number | null => (/^\d{6,}$/.test(text) ? Number(text) : null);
