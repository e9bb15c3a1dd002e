/** A job id as Slurm's commands print it. */
export interface SlurmJobId {
  /** The number that every command takes. */
  readonly base: number;
  /** Tasks of an array, expanded; null when it is none. */
  readonly tasks: readonly number[] | null;
  /** At most that many tasks at once; null without a limit. */
  readonly throttle: number | null;
  /** Component of a heterogeneous job; null when it is none. */
  readonly component: number | null;
  /** Step such as `batch` or `0`; null for the job itself. */
  readonly step: string | null;
}

const SHAPE = /^(\d+)(?:\+(\d+)|_(\d+)|_\[([^\]]*)\])?(?:\.([\w.-]+))?$/;

// Slurm's own limit of MaxArraySize.
const MOST_TASKS = 4_000_001;

/** `123`, `123_7`, `123_[60-89,91-94%2]`, `123+1`, `123.batch`; undefined for anything else. */
export const parseJobId = (text: string): SlurmJobId | undefined => {
  const match = SHAPE.exec(text.trim());
  if (match === null) return undefined;
  const [, base, component, task, list, step] = match;
  const expanded = list === undefined ? undefined : expand(list);
  if (list !== undefined && expanded === undefined) return undefined;
  return {
    base: Number(base),
    tasks: expanded?.tasks ?? (task === undefined ? null : [Number(task)]),
    throttle: expanded?.throttle ?? null,
    component: component === undefined ? null : Number(component),
    step: step ?? null,
  };
};

function expand(list: string): { tasks: number[]; throttle: number | null } | undefined {
  const [ranges = "", throttle] = list.split("%");
  if (throttle !== undefined && !/^\d+$/.test(throttle)) return undefined;
  const tasks: number[] = [];
  for (const range of ranges.split(",")) {
    const { first, last, step } = rangeOf(range);
    // NaN where it is no range.
    if (!(step > 0 && (last - first) / step + tasks.length <= MOST_TASKS)) return undefined;
    for (let task = first; task <= last; task += step) tasks.push(task);
  }
  return { tasks, throttle: throttle === undefined ? null : Number(throttle) };
}

function rangeOf(text: string): { readonly first: number; readonly last: number; readonly step: number } {
  const [, first = "x", last = first, step = "1"] = /^(\d+)(?:-(\d+)(?::(\d+))?)?$/.exec(text) ?? [];
  return { first: Number(first), last: Number(last), step: Number(step) };
}
