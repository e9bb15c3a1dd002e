import type { OnProgress, Progress } from "../workflow/index.ts";
import type { Context } from "./context.ts";
import { countText, secondsText } from "./quantities.ts";

/** Prints progress: lines that stay for what happened, one moving line on a terminal for what goes on. */
export const progressPrinter = ({ print }: Pick<Context, "print">): OnProgress => {
  let moving = "";
  const stay = (text: string): void => {
    print.line(text);
    print.progress(moving);
  };
  return (progress) => {
    const text = movingText(progress);
    if (text !== undefined) {
      moving = text;
      print.progress(moving);
      return;
    }
    if (progress.type === "stage") {
      moving = "";
      stay(`${print.style.bold(progress.stage)}  ${progress.text}`);
    }
    if (progress.type === "note") stay(`  ${progress.text}`);
    if (progress.type === "evaluation") {
      stay(`  step ${countText(progress.step)}: dev loss ${progress.devLoss.toFixed(3)}`);
    }
  };
};

function movingText(progress: Progress): string | undefined {
  switch (progress.type) {
    case "step": {
      const eta = progress.etaSeconds === null ? "" : `, ${secondsText(progress.etaSeconds)} left`;
      return `  step ${countText(progress.step)} of ${countText(progress.steps)}, loss ${progress.loss.toFixed(3)}${eta}`;
    }
    case "work":
      return `  ${progress.text}: ${countText(progress.done)} of ${countText(progress.total)}`;
    case "detail":
      return `  ${progress.text}`;
    case "checkpoint":
      return `  checkpoint ${countText(progress.step)}`;
    case "stage":
    case "note":
    case "evaluation":
      return undefined;
    default:
      return undefined;
  }
}
