import { RemoteError } from "../../core/errors.ts";

/**
 * Scales to length 1, computed in doubles and rounded once to float32. RemoteError `EMBEDDING_INVALID` for another number
 * of components than `dimension`, one that is not finite, or a vector of zeros; `who` names the model's place.
 */
export const unitVector = (raw: ArrayLike<number>, dimension: number, who: string): Float32Array => {
  if (raw.length !== dimension) {
    throw invalid(`${who} gave a vector of ${raw.length} numbers; ${dimension} were expected`);
  }
  let squares = 0;
  for (let index = 0; index < dimension; index += 1) squares += (raw[index] ?? 0) ** 2;
  if (!Number.isFinite(squares)) throw invalid(`${who} gave a vector with numbers that are not finite`);
  if (squares === 0) throw invalid(`${who} gave a vector of zeros`);
  const scale = 1 / Math.sqrt(squares);
  return Float32Array.from(raw, (value) => value * scale);
};

function invalid(message: string): RemoteError {
  return new RemoteError("EMBEDDING_INVALID", message, {
    hint: "check that the model there is the one that is named, and an embedding model",
  });
}
