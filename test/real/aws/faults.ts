/** What the proxy does to calls that match, as many times as said. */
export interface Fault {
  /** Tested against `SageMaker.CreateTrainingJob`, `Logs_20140328.GetLogEvents`, or `PUT /bucket/key?query`. */
  readonly target: RegExp;
  readonly times: number;
  readonly how:
    | "throttle"
    | "server-error"
    /** The connection ends before anything has arrived. */
    | "drop-before"
    /** It has been done; the reply is lost. */
    | "drop-after"
    /** Half of the reply arrives, then the connection ends. */
    | "cut"
    /** A page of the log without events, but with another token. */
    | "empty-page"
    /** Something on the way answers in the service's place: 404, with a page for people. */
    | "gateway"
    | { readonly status: number; readonly type: string; readonly message: string };
}

/** Takes the fault that a call meets, if any. Each is used up as often as it says. */
export const faults = (): {
  add(fault: Fault): void;
  take(target: string): Fault["how"] | undefined;
} => {
  const waiting: { readonly fault: Fault; left: number }[] = [];
  return {
    add: (fault) => waiting.push({ fault, left: fault.times }),
    take: (target) => {
      const found = waiting.find(({ fault, left }) => left > 0 && fault.target.test(target));
      if (found === undefined) return undefined;
      found.left -= 1;
      return found.fault.how;
    },
  };
};
