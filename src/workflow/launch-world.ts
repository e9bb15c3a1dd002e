import { dirname } from "node:path";
import type { Job, LaunchProgress, LaunchWorld } from "../launch/index.ts";
import type { OnProgress } from "./progress.ts";
import type { Shop } from "./shop.ts";

/** What the launcher of a job needs of the world: the clock, the environment, and this machine's copy of the payload. */
export const launchWorld = (
  shop: Pick<Shop, "clock" | "environment" | "onProgress"> & Partial<Pick<Shop, "signal">>,
  job: Job,
): LaunchWorld => ({
  clock: shop.clock,
  environment: shop.environment,
  payload: payloadHere(job),
  onProgress: told(shop.onProgress),
  ...(shop.signal === undefined ? {} : { signal: shop.signal }),
});

/** The payload's folder on this machine: that of a job that runs elsewhere lies under a path of the other one. */
export const payloadHere = (job: Pick<Job, "inputs" | "payload">): string => {
  const wrapper = job.inputs.find(({ role, path }) => role === "payload" && path.endsWith("/wrapper.sh"));
  return wrapper?.source ? dirname(wrapper.source) : job.payload;
};

function told(onProgress: OnProgress): (event: LaunchProgress) => void {
  return (event) => {
    if (event.kind === "note") onProgress({ type: "note", text: event.text });
    else onProgress({ type: "detail", text: `${event.text}${shareText(event)}` });
  };
}

function shareText({ kind, done, total }: LaunchProgress): string {
  if (done === undefined || total === undefined) return "";
  return kind === "upload" ? `: ${megabytes(done)} of ${megabytes(total)} MB` : `: ${done} of ${total}`;
}

const megabytes = (bytes: number): string => (bytes / 1e6).toFixed(1);
