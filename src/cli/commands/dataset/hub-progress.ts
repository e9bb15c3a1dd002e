import type { HubProgress } from "../../../dataset/index.ts";
import type { Context } from "../../context.ts";
import { bytesText, countText, secondsText } from "../../quantities.ts";

/** Shows how a push or pull goes on; a long wait for the Hub is told even where no line can be replaced. */
export const showHubProgress =
  ({ print, clock }: Pick<Context, "print" | "clock">, repo: string): ((progress: HubProgress) => void) =>
  (progress) => {
    if (progress.phase !== "pause") return print.progress(progressText(repo, progress));
    const { milliseconds, reason } = progress;
    const text = `${reason}; going on in ${secondsText(milliseconds / 1000)}`;
    if (milliseconds < LONG_WAIT) return print.progress(text);
    const until = new Date(clock.now() + milliseconds).toISOString().slice(11, 16);
    print.note(`${text} (${until} UTC). Ctrl-C is safe: the same command goes on from here`);
  };

const LONG_WAIT = 30_000;

function progressText(repo: string, progress: Exclude<HubProgress, { phase: "pause" }>): string {
  switch (progress.phase) {
    case "verify":
      return `comparing shards with the lock: ${bytesOf(progress)}`;
    case "upload":
      return `sending to ${repo}: ${bytesOf(progress)}`;
    case "download":
      return `fetching from ${repo}: ${bytesOf(progress)}`;
    case "commit":
      return `commit ${countText(progress.done)} of ${countText(progress.total)} made`;
    case "check":
      return `checking every file of ${repo}`;
    default:
      return "";
  }
}

const bytesOf = ({ bytes, totalBytes }: { readonly bytes: number; readonly totalBytes: number }): string =>
  `${bytesText(bytes)} of ${bytesText(totalBytes)}`;
