import { digestOf } from "../core/hash.ts";
import type { JsonValue } from "./system.ts";

/** Everything that the rows of a task depend on. */
export interface TaskIdentity {
  readonly kind: "score" | "infer" | "measure";
  readonly systemDigest: string;
  readonly suiteDigest: string;
  /** `decoding` of infer, `scoring` of score, null for measure. */
  readonly settings: JsonValue;
  /** Digest of the payload's source: other code may give other rows. */
  readonly payloadDigest: string;
}

/** Content address of a task, fit for a folder name: equal identities share one cached result, others never do. */
export const taskKey = (identity: TaskIdentity): string => {
  const { kind, systemDigest, suiteDigest, settings, payloadDigest } = identity;
  const digest = digestOf({
    v: 1,
    kind,
    system: systemDigest,
    suite: suiteDigest,
    settings,
    payload: payloadDigest,
  });
  return `${kind}-${digest.slice(0, 32)}`;
};
