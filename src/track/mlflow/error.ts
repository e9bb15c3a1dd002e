import { RemoteError, type ErrorDetails } from "../../core/errors.ts";

/** How a call failed, and whether it may have had its effect all the same. */
export class MlflowError extends RemoteError {
  /** `silent`: no answer, or none that counts; `refused`: the server will say the same again. */
  readonly kind: "silent" | "refused";
  readonly maybeDone: boolean;
  /** MLflow's own word, e.g. `RESOURCE_DOES_NOT_EXIST`. */
  readonly word: string | null;
  /** Milliseconds that the server asks to wait. */
  readonly wait: number;

  constructor(
    code: string,
    message: string,
    how: { kind: "silent" | "refused"; maybeDone?: boolean; word?: string | null; wait?: number },
    details: ErrorDetails = {},
  ) {
    super(code, message, details);
    this.kind = how.kind;
    this.maybeDone = how.maybeDone ?? false;
    this.word = how.word ?? null;
    this.wait = how.wait ?? 0;
  }
}
