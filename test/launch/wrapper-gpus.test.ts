import { spawnSync } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { userInfo } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { layoutAt, WrapperResult } from "../../src/launch/index.ts";
import { temporaryFolder, wrapperPath } from "./support.ts";

interface Smi {
  /** Lines of --query-gpu: index, uuid, memory.used. */
  readonly memory?: readonly string[];
  /** Lines of --query-compute-apps. */
  readonly apps?: readonly string[];
  /** What the bare program prints. */
  readonly head?: string;
  /** Shell that comes before all of it. */
  readonly first?: string;
}

const HEAD = "| NVIDIA-SMI 580.65.06    Driver Version: 580.65.06    CUDA Version: 13.0     |";
const uuid = (index: number): string => `GPU-${String(index).repeat(8)}-0a0a`;
const free = (count: number, used = 4): string[] =>
  Array.from({ length: count }, (_, index) => `${index}, ${uuid(index)}, ${used}`);

const smi = ({ memory = free(8), apps = [], head = HEAD, first = "" }: Smi): string => {
  const list = memory.map(
    (line) => `GPU ${line.split(",")[0]}: NVIDIA H100 80GB HBM3 (UUID: ${line.split(", ")[1]})`,
  );
  const text = (lines: readonly string[]): string => `cat <<'TEXT'\n${lines.join("\n")}\nTEXT\nexit 0 ;;`;
  return `${first}
case "$1" in
  -L) ${text(list)}
  --query-gpu=*) ${text(memory)}
  --query-compute-apps=*) ${text(apps)}
  '') ${text(["+---+", head, "+---+"])}
esac
exit 6`;
};

/** The node check of a job on 8 GPUs, unless said otherwise, with this nvidia-smi. */
const check = (
  of: Smi,
  {
    gpus = 8,
    options = ["--max-held", "1024", "--cuda", "13.0"],
    environment = {},
    programs = {},
  }: {
    readonly gpus?: number;
    readonly options?: readonly string[];
    readonly environment?: Readonly<Record<string, string>>;
    readonly programs?: Readonly<Record<string, string>>;
  } = {},
): WrapperResult => {
  const folder = temporaryFolder().path;
  const bin = join(folder, "bin");
  mkdirSync(bin);
  // Nobody waits in a test.
  const all = { "nvidia-smi": smi(of), sleep: `echo "$1" >>${folder}/slept`, ...programs };
  for (const [name, text] of Object.entries(all))
    writeFileSync(join(bin, name), `#!/bin/sh\n${text}\n`, { mode: 0o755 });
  const layout = layoutAt(join(folder, "attempts/1"));
  mkdirSync(layout.folder, { recursive: true });
  const args = [
    [
      "--run",
      layout.run,
      "--attempt",
      "1",
      "--marker",
      "gpus1",
      "--token",
      "t1",
      "--keep",
      "*",
      "--host",
      "gpu-7",
    ],
    ["--gpus", String(gpus), ...options, "--", "/bin/true"],
  ];
  const { status } = spawnSync("/bin/sh", [wrapperPath, ...args.flat()], {
    env: { PATH: `${bin}:${process.env["PATH"] ?? ""}`, ...environment },
  });
  const result = WrapperResult.parse(JSON.parse(readFileSync(layout.result, "utf8")));
  expect(status).toBe(result.exitCode);
  return result;
};
const unfit = (detail: unknown): unknown =>
  expect.objectContaining({ exitCode: 69, reason: "node-check", host: "gpu-7", detail });
const HELD = [...free(3), `3, ${uuid(3)}, 61000`, ...free(8).slice(4)];

describe("the memory of the job's GPUs", () => {
  it("that nobody holds is fine, as is what a driver keeps for itself", () => {
    expect(check({})).toMatchObject({ exitCode: 0 });
    expect(check({ memory: free(8, 1024) })).toMatchObject({ exitCode: 0 });
  });

  it("that others hold ends the attempt, with pid and owner of who does", () => {
    const apps = [
      `${uuid(3)}, ${process.pid}, 60000, python3`,
      `${uuid(2)}, 1, 3, other`,
      `${uuid(3)}, 4194999, 990, [Not Found]`,
    ];
    const { detail } = check({ memory: HELD, apps });
    expect(detail).toBe(
      "others hold memory of the job's GPUs (more than 1024 MiB): GPU 3: 61000 MiB held: " +
        `60000 MiB by pid ${process.pid} of ${userInfo().username} (python3), ` +
        "990 MiB by pid 4194999 of an unknown user ([Not Found])",
    );
    expect(check({ memory: HELD })).toEqual(unfit(expect.stringContaining("nobody that nvidia-smi shows")));
  });

  it("of other jobs' GPUs is no matter, however the job's own are named", () => {
    const given = (visible: string): WrapperResult =>
      check({ memory: HELD }, { gpus: 2, environment: { CUDA_VISIBLE_DEVICES: visible } });
    expect(given("4,5")).toMatchObject({ exitCode: 0 });
    expect(given("2,3")).toEqual(unfit(expect.stringContaining("GPU 3: 61000 MiB")));
    expect(given(`${uuid(0)},${uuid(1)}`)).toMatchObject({ exitCode: 0 });
    expect(given(`GPU-0000,GPU-3333`)).toEqual(unfit(expect.stringContaining("GPU 3: 61000 MiB")));
    expect(given("MIG-3f1,MIG-3f2")).toMatchObject({ exitCode: 0 });
  });

  it("that somebody gives back in the next half minute is waited for", () => {
    const first = `[ "$1" != --query-gpu=index,uuid,memory.used ] || { echo >>"$0.asked"; [ "$(wc -l <"$0.asked")" -lt 4 ] || { printf '%s\\n' ${free(
      8,
    )
      .map((line) => `'${line}'`)
      .join(" ")}; exit 0; }; }`;
    expect(check({ memory: HELD, first })).toMatchObject({ exitCode: 0 });
  });

  it("that this machine does not count is no fault", () => {
    for (const word of ["[N/A]", "N/A", "[Not Supported]"]) {
      expect(check({ memory: free(8).map((line) => line.replace(/\d+$/, word)) })).toMatchObject({
        exitCode: 0,
      });
    }
  });

  it.each([
    ["garbage", ["\u0001\u0002 %s $(exit) `x`", "no, devices, were found"]],
    ["a GPU that is lost", [...free(7), "7, GPU-7, ERR!"]],
    ["one GPU too few", free(7)],
  ])("told as %s ends the attempt", (_what, memory) => {
    const list = free(8).map((line) => `GPU ${line.split(",")[0]}: NVIDIA H100`);
    const first = `[ "$1" != -L ] || { cat <<'TEXT'\n${list.join("\n")}\nTEXT\nexit 0; }`;
    expect(check({ memory, first })).toEqual(
      unfit(expect.stringMatching(/tells the memory of only \d of 8 GPUs/)),
    );
  });

  it("is not asked for where nobody wants to know", () => {
    expect(check({ memory: HELD, head: "CUDA Version: 11.0" }, { options: [] })).toMatchObject({
      exitCode: 0,
    });
  });
});

describe("the driver", () => {
  it("must be of the payload's CUDA or newer", () => {
    const of = (cuda: string): WrapperResult =>
      check({ head: `Driver Version: 570.1 CUDA Version: ${cuda} |` });
    expect(of("13.1")).toMatchObject({ exitCode: 0 });
    expect(of("14.0")).toMatchObject({ exitCode: 0 });
    expect(of("12.8")).toEqual(
      unfit("driver 570.1 (CUDA 12.8) is too old: the payload's torch is built for CUDA 13.0"),
    );
    // 9 is not greater than 13.
    expect(of("9.2")).toEqual(unfit(expect.stringContaining("too old")));
  });

  it.each(["CUDA Version: N/A", "", "CUDA UMD Version 13"])("that says %o does not stop the job", (head) => {
    expect(check({ head })).toMatchObject({ exitCode: 0 });
  });
});

describe("an nvidia-smi that", () => {
  // The minute of the check, at once.
  const impatient = {
    timeout: `while [ "$1" = -k ]; do shift 2; done; shift; exec /usr/bin/timeout 0.2 "$@"`,
  };

  it.each([
    ["--query-gpu", /does not tell what is held/],
    ["-L", /nvidia-smi fails/],
    ["", /nvidia-smi fails/],
  ])("hangs when asked %o ends the attempt", (word, words) => {
    const first = `case "$1" in ${word === "" ? "''" : `${word}*`}) exec /bin/sleep 60 ;; esac`;
    expect(check({ first }, { programs: impatient })).toEqual(unfit(expect.stringMatching(words)));
  });

  it("hangs when asked who holds the memory still ends it, with what is held", () => {
    const first = 'case "$1" in --query-compute*) exec /bin/sleep 60 ;; esac';
    expect(check({ memory: HELD, first }, { programs: impatient })).toEqual(
      unfit(expect.stringContaining("GPU 3: 61000 MiB held")),
    );
  });

  it("fails says why", () => {
    const first = `[ "$1" != --query-gpu=index,uuid,memory.used ] || { echo 'GPU is lost. Reboot the system' >&2; exit 15; }`;
    expect(check({ first })).toEqual(unfit(expect.stringContaining("GPU is lost. Reboot the system")));
  });
});
