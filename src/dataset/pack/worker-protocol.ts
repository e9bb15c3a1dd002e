import { z } from "zod";
import {
  InternalError,
  messageOf,
  PreflightError,
  RemoteError,
  systemCode,
  UnderstudyError,
  UserError,
} from "../../core/errors.ts";
import { Sha256 } from "../vocabulary.ts";
import type { ShardTask } from "./hand.ts";

/** What a thread is asked to do, one at a time; `stop` ends the current task. */
export type Task =
  | { readonly kind: "survey"; readonly unit: string }
  | { readonly kind: "write"; readonly shard: ShardTask }
  | { readonly kind: "stop" };

/** What a thread answers. Errors travel by their parts: a copy between threads loses their class. */
export const Reply = z.discriminatedUnion("kind", [
  z.strictObject({ kind: z.literal("dialogues"), count: z.int().positive() }),
  z.strictObject({ kind: z.literal("done"), value: z.unknown() }),
  z.strictObject({
    kind: z.literal("failed"),
    actor: z.enum(["user", "preflight", "remote", "bug"]),
    code: z.string(),
    message: z.string(),
    hint: z.string().nullable(),
  }),
]);
export type Reply = z.infer<typeof Reply>;
export type Failure = Extract<Reply, { kind: "failed" }>;

export const WrittenShard = z.strictObject({ bytes: z.int().nonnegative(), sha256: Sha256 });
export type WrittenShard = z.infer<typeof WrittenShard>;

/** An error as it travels. */
export const failureOf = (thrown: unknown): Failure => {
  if (thrown instanceof UnderstudyError)
    return {
      kind: "failed",
      actor: thrown.actor,
      code: thrown.code,
      message: thrown.message,
      hint: thrown.hint ?? null,
    };
  const code = systemCode(thrown);
  // What the machine refuses is for the person, here as anywhere else: a missing permission is no bug.
  if (code !== undefined && /^E(?!RR_)[A-Z0-9]+$/.test(code))
    return { kind: "failed", actor: "user", code, message: messageOf(thrown), hint: null };
  const message = thrown instanceof Error ? (thrown.stack ?? thrown.message) : String(thrown);
  return { kind: "failed", actor: "bug", code: "PACK_THREAD_FAILED", message, hint: null };
};

const CLASSES = { user: UserError, preflight: PreflightError, remote: RemoteError, bug: InternalError };

/** The error again, of its class. */
export const errorOf = ({ actor, code, message, hint }: Failure): UnderstudyError =>
  new CLASSES[actor](code, message, hint === null ? {} : { hint });
