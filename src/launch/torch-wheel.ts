import { isAbsolute } from "node:path";
import { z } from "zod";
import { UserError } from "../core/errors.ts";
import { exists, readIfExists } from "../core/files.ts";
import { withoutUserinfo } from "../core/http.ts";
import { runProgram } from "../core/process.ts";

// The one place that knows where torch comes from. PyPI's Linux build brings gigabytes of CUDA libraries, which a
// machine without a GPU has no use for.
export const CPU_INDEX = "https://download.pytorch.org/whl/cpu";

export interface TorchQuestion {
  /** Interpreter of the environment that torch is for. */
  readonly python: string;
  /** File that pins torch. */
  readonly requirements: string;
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** `process.platform` and `process.arch` of the machine. */
  readonly platform: string;
  readonly arch: string;
  readonly signal?: AbortSignal;
}

export interface TorchSource {
  /** Arguments for `pip install`: what for, and in which folder. */
  readonly install: readonly string[];
  /**
   * Index to look in instead of pip's own; null: no other. It may hold a token: for a variable of pip's environment, which is its
   * owner's alone, never for an argument, which everybody on the machine can read.
   */
  readonly index: string | null;
  /** False: pip's own configuration decides, as it does for all other packages. */
  readonly elsewhere: boolean;
  /** In words, for people; without the user and token of a URL. */
  readonly from: string;
}

/**
 * Where the CPU build of torch is taken from: UNDERSTUDY_TORCH_WHEELS (a folder or an index URL); else what pip's own
 * configuration offers, when that is a CPU build; else PyTorch's CPU index. UserError `TORCH_WHEELS_INVALID`.
 */
export const chooseCpuTorch = async (question: TorchQuestion): Promise<TorchSource> => {
  const { environment, platform, arch, requirements } = question;
  const wish = environment["UNDERSTUDY_TORCH_WHEELS"];
  if (wish) return wished(wish, requirements);
  const asConfigured = { install: ["-r", requirements], index: null, elsewhere: false };
  // Here the plain build is a CPU build.
  if (platform === "darwin" || arch === "arm64") return { ...asConfigured, from: "pip's package index" };
  if (await pipIsConfigured(question)) {
    const offer = await offered(question);
    if (offer !== undefined) return { ...asConfigured, from: offer };
  }
  return { install: await pinnedToCpu(requirements), index: CPU_INDEX, elsewhere: true, from: CPU_INDEX };
};

// A configured extra index may have the same version for CUDA: only the CPU build's own name leaves no choice.
async function pinnedToCpu(requirements: string): Promise<readonly string[]> {
  const text = (await readIfExists(requirements)) ?? "";
  const version = /^\s*torch==([0-9][0-9.a-z]*)\s*(#.*)?$/m.exec(text)?.[1];
  return version === undefined ? ["-r", requirements] : [`torch==${version}+cpu`];
}

async function wished(wish: string, requirements: string): Promise<TorchSource> {
  const what = ["-r", requirements];
  const found = { elsewhere: true, from: withoutUserinfo(wish) };
  if (/^(https?|file):\/\//.test(wish)) return { ...found, install: what, index: wish };
  if (!isAbsolute(wish) || !(await exists(wish))) {
    throw new UserError(
      "TORCH_WHEELS_INVALID",
      `UNDERSTUDY_TORCH_WHEELS is "${withoutUserinfo(wish)}", which is neither an existing absolute folder nor a URL`,
      { hint: "name a folder that holds the torch wheel, or the URL of a package index" },
    );
  }
  return { ...found, install: ["--no-index", "--find-links", wish, ...what], index: null };
}

// Unconfigured, pip would look at PyPI, and an old pip downloads the whole CUDA build only to answer the question.
async function pipIsConfigured({ python, environment, signal }: TorchQuestion): Promise<boolean> {
  const { stdout } = await runProgram([python, "-m", "pip", "config", "list"], {
    env: environment,
    ...(signal && { signal }),
  });
  return /^\S*\.(index-url|extra-index-url|find-links|no-index)=/m.test(stdout);
}

const Report = z.object({
  install: z.array(
    z.object({
      download_info: z.object({ url: z.string() }),
      metadata: z.object({ name: z.string(), version: z.string() }),
    }),
  ),
});

async function offered(question: TorchQuestion): Promise<string | undefined> {
  const { python, requirements, environment, signal } = question;
  const ask = ["install", "--dry-run", "--no-deps", "--ignore-installed", "--quiet", "--report", "-"];
  const { exitCode, stdout } = await runProgram([python, "-m", "pip", ...ask, "-r", requirements], {
    env: environment,
    ...(signal && { signal }),
  });
  return exitCode === 0 ? cpuBuildIn(stdout) : undefined;
}

/**
 * Address of the torch wheel in pip's report, when its version says that it is a CPU build; undefined for anything else.
 * Only asked where the plain build is for CUDA (Linux on x86-64): there a mirror's file without a mark is that one.
 */
export const cpuBuildIn = (report: string): string | undefined => {
  const parsed = Report.safeParse(asJson(report));
  const torch = parsed.data?.install.find(({ metadata }) => metadata.name === "torch");
  if (torch === undefined) return undefined;
  const isCpu = torch.metadata.version.split("+")[1] === "cpu";
  return isCpu ? withoutUserinfo(torch.download_info.url) : undefined;
};

function asJson(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}
