import { messageOf, RemoteError, UnderstudyError } from "../../core/errors.ts";

/**
 * What the Hub's client throws of its own (an object refused in a list, a reply of another form), as a RemoteError
 * `HUB_REFUSED`. Its texts quote whole URLs, whose queries are signatures: those are left out.
 */
export const asHubError = async <Value>(work: Promise<Value>): Promise<Value> => {
  try {
    return await work;
  } catch (error) {
    if (error instanceof UnderstudyError || (error instanceof Error && error.name === "AbortError"))
      throw error;
    const message = messageOf(error).replaceAll(/(https?:\/\/[^\s?]*)\?\S*/g, "$1");
    throw new RemoteError("HUB_REFUSED", `The Hub refused or was not understood: ${message}`, {
      hint: "run the same command again: it goes on where it stopped",
    });
  }
};
