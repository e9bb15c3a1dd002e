import { markerOf, openLauncher, planText, type Job } from "../launch/index.ts";
import type { Shop } from "./shop.ts";

/** The first attempt's plan as text: what would be sent, with the attempt's token named instead of drawn. */
export const dryRun = async (shop: Shop, job: Job): Promise<string> => {
  const launcher = await openLauncher(job.profile, { ...shop, payload: job.payload });
  return planText(
    launcher.plan(job, { number: 1, marker: markerOf(job.runId, 1), token: "TOKEN-DRAWN-AT-START" }),
  );
};
