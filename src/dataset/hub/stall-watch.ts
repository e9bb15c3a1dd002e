/** Ends a request that no longer moves: the deadline starts anew whenever enough bytes have moved. */
export interface StallWatch {
  readonly signal: AbortSignal;
  /** True when the watch itself ended the request, not the caller's signal. */
  readonly stalled: () => boolean;
  readonly moved: (bytes: number) => void;
  readonly stop: () => void;
}

/** Fewer bytes than this in the whole time are a trickle, and count as standing still. */
const LEAST_BYTES = 16 * 1024;

/** Watches one request for `milliseconds` without progress; `signal` ends it too. Stop it. */
export const stallWatch = (milliseconds: number, signal: AbortSignal | undefined): StallWatch => {
  const controller = new AbortController();
  let timer: NodeJS.Timeout | undefined;
  let sinceStart = 0;
  let stalled = false;
  const start = (): void => {
    clearTimeout(timer);
    sinceStart = 0;
    timer = setTimeout(() => {
      stalled = true;
      controller.abort(new Error(`nothing moved for ${Math.round(milliseconds / 1000)} s`));
    }, milliseconds);
  };
  start();
  return {
    signal: signal === undefined ? controller.signal : AbortSignal.any([controller.signal, signal]),
    stalled: () => stalled,
    moved: (bytes) => {
      sinceStart += bytes;
      if (sinceStart >= LEAST_BYTES && !stalled) start();
    },
    stop: () => clearTimeout(timer),
  };
};
