import type { Clock } from "../../core/clock.ts";

/** A pause that the Hub or the network makes necessary. */
export interface HubPause {
  readonly milliseconds: number;
  /** Why, for people: `the Hub answered 429`. */
  readonly reason: string;
}

export interface RetryPolicy {
  /** Attempts of one request in all. */
  readonly attempts: number;
  /** Milliseconds in which bytes must move, else the attempt is given up. */
  readonly stallMs: number;
  /** Milliseconds for all attempts and waits of one request. */
  readonly budgetMs: number;
  /** The longest wait that a server may ask for. The limit of commits is counted by the hour. */
  readonly longestWaitMs: number;
}

export const RETRY_POLICY: RetryPolicy = {
  attempts: 8,
  stallMs: 120_000,
  budgetMs: 3 * 3_600_000,
  longestWaitMs: 65 * 60_000,
};

/** What every call to the Hub needs. */
export interface HubWorld {
  /** Root of the Hub, without a slash at its end. */
  readonly hubUrl: string;
  /** Starts with `hf_`; undefined reads public repositories only. Sent to the Hub's own host alone. */
  readonly token: string | undefined;
  readonly fetch: typeof fetch;
  readonly clock: Clock;
  readonly signal?: AbortSignal | undefined;
  readonly policy?: Partial<RetryPolicy> | undefined;
  readonly onPause?: ((pause: HubPause) => void) | undefined;
  /** Bytes of request bodies as they go; negative when an attempt failed and its bytes have to go again. */
  readonly onSent?: ((bytes: number) => void) | undefined;
}
