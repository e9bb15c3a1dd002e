/** Lets so many in at once; the others wait in order. */
export interface Gate {
  /** Resolves with what to call on leaving. Never resolves for one whose signal aborts while it waits. */
  enter(signal: AbortSignal): Promise<() => void>;
}

export const gate = (places: number): Gate => {
  let free = places;
  const waiting: (() => void)[] = [];
  const leave = (): (() => void) => {
    let left = false;
    return () => {
      if (left) return;
      left = true;
      const next = waiting.shift();
      if (next) next();
      else free += 1;
    };
  };
  return {
    enter: async (signal) => {
      if (free > 0) {
        free -= 1;
        return leave();
      }
      return new Promise((resolve) => {
        const admit = (): void => resolve(leave());
        waiting.push(admit);
        signal.addEventListener("abort", () => {
          const place = waiting.indexOf(admit);
          if (place !== -1) waiting.splice(place, 1);
        });
      });
    },
  };
};
