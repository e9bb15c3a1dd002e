import type { HubPause } from "./hub-world.ts";

/** `verify` compares local files with the lock, `upload`/`download` move bytes; `pause` waits for the Hub. */
export type HubProgress =
  | { readonly phase: "verify" | "upload" | "download"; readonly bytes: number; readonly totalBytes: number }
  | { readonly phase: "commit"; readonly done: number; readonly total: number }
  | { readonly phase: "check" }
  | ({ readonly phase: "pause" } & HubPause);
