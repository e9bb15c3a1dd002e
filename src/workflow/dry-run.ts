import { markerOf, planText, type Job, type Plan } from "../launch/index.ts";
import type { Shop } from "./shop.ts";

/** The first attempt's plan: what would be sent, with the attempt's token named instead of drawn. Asks no machine. */
export const planOf = async (shop: Shop, job: Job): Promise<Plan> =>
  (await shop.launchers.of(job)).plan(job, {
    number: 1,
    marker: markerOf(job.runId, 1),
    token: "TOKEN-DRAWN-AT-START",
  });

/** The first attempt's plan as text. */
export const dryRun = async (shop: Shop, job: Job): Promise<string> => planText(await planOf(shop, job));
