import { plannedPython, preparePython, type LauncherProfile } from "../launch/index.ts";
import type { Shop } from "./shop.ts";

type Request = Parameters<typeof preparePython>[0];

/** An interpreter of the payload on this machine, made when it is not there yet: to run jobs here, or to make a model. */
export const pythonFor = async (shop: Shop, profile: LauncherProfile): Promise<string> =>
  preparePython(requestFor(shop, profile));

/** The interpreter that `pythonFor` would give. Makes nothing. */
export const plannedPythonFor = async (shop: Shop, profile: LauncherProfile): Promise<string> =>
  (await plannedPython(requestFor(shop, profile))).path;

function requestFor(shop: Shop, profile: LauncherProfile): Request {
  return {
    project: shop.project,
    payload: shop.payload,
    // What is made here for another machine needs no GPU.
    profile: profile.kind === "local" ? profile : { device: "cpu" },
    environment: shop.environment,
    clock: shop.clock,
    onLine: (text) => shop.onProgress({ type: "detail", text }),
    signal: shop.signal,
  };
}
