/** What nvidia-smi says of a machine. */
export type Gpus =
  | { readonly state: "absent" }
  | { readonly state: "failed"; readonly reason: string }
  | {
      readonly state: "known";
      readonly gpus: readonly Gpu[];
      /** Highest CUDA version that the driver supports, e.g. `13.0`; null when it was not told. */
      readonly cuda: string | null;
    };

export interface Gpu {
  readonly index: number;
  readonly uuid: string;
  readonly name: string;
  /** Mebibytes; null where the driver does not tell (`[N/A]`). */
  readonly totalMebibytes: number | null;
  readonly usedMebibytes: number | null;
  readonly driver: string;
  readonly holders: readonly Holder[];
}

export interface Holder {
  readonly pid: number;
  /** `?` when the process belongs to another container or is gone. */
  readonly owner: string;
  readonly mebibytes: number | null;
  readonly program: string;
}

/** Lines of check.sh: `nvidia-smi ok|absent|failed …`, `gpu CSV`, `cuda V`, `gpu-process OWNER, CSV`. Total. */
export const parseGpus = (lines: readonly string[]): Gpus => {
  const after = (word: string): string[] =>
    lines.filter((line) => line.startsWith(`${word} `)).map((line) => line.slice(word.length + 1));
  const [state = "absent"] = after("nvidia-smi");
  if (state === "absent") return { state: "absent" };
  if (state.startsWith("failed")) return { state: "failed", reason: state.slice(7) };
  const holders = after("gpu-process").flatMap(parseHolder);
  return {
    state: "known",
    gpus: after("gpu")
      .flatMap(parseGpu)
      .map((gpu) => ({
        ...gpu,
        holders: holders.filter(({ uuid }) => uuid === gpu.uuid).map(({ holder }) => holder),
      })),
    cuda: /^\d+\.\d+$/.exec(after("cuda")[0] ?? "")?.[0] ?? null,
  };
};

function parseGpu(line: string): Omit<Gpu, "holders">[] {
  const fields = line.split(",").map((field) => field.trim());
  // A name could hold a comma: three fields stand before it counted from the end.
  const [index = "", uuid = ""] = fields;
  const [total, used, driver = ""] = fields.slice(-3);
  if (!/^\d+$/.test(index) || fields.length < 6) return [];
  const name = fields.slice(2, -3).join(", ");
  return [
    {
      index: Number(index),
      uuid,
      name,
      totalMebibytes: mebibytes(total),
      usedMebibytes: mebibytes(used),
      driver,
    },
  ];
}

function parseHolder(line: string): { readonly uuid: string; readonly holder: Holder }[] {
  const [owner = "?", uuid = "", pid = "", used, ...program] = line.split(",").map((field) => field.trim());
  if (!/^\d+$/.test(pid)) return [];
  return [
    { uuid, holder: { pid: Number(pid), owner, mebibytes: mebibytes(used), program: program.join(", ") } },
  ];
}

function mebibytes(text: string | undefined): number | null {
  const match = /^(\d+)(?: MiB)?$/.exec(text ?? "");
  return match === null ? null : Number(match[1]);
}
