const LASTING = new Set(["HOST_KEY_CHANGED", "HOST_KEY_UNKNOWN", "AUTH_FAILED", "UNFIT"]);

/**
 * True for the code of a transport error, with or without `TRANSPORT_`, that stays until a person acts: a host's key that is not
 * the recorded one, a refused login, settings with which the host cannot be reached. Waiting does not heal it.
 */
export const isLasting = (code: string): boolean => LASTING.has(code.replace(/^TRANSPORT_/, ""));
