import type { ClipBytes, ClipFault } from "./source.ts";

/** True for a text that says of itself that it holds data. */
export const isDataUrl = (text: string): boolean => /^\s*data:/i.test(text);

const fault = (message: string): ClipFault => ({ outcome: "rejected", reason: "base64", message });

/**
 * Bytes of a `data:…;base64,` URL or of bare base64. White space, the URL-safe alphabet, missing padding and a wrong
 * MIME type are tolerated; any other foreign character is a fault.
 */
export const decodeDataUrl = (text: string): ClipBytes | ClipFault => {
  const comma = isDataUrl(text) ? text.indexOf(",") : -1;
  if (isDataUrl(text) && !/;base64$/i.test(text.slice(0, Math.max(0, comma)).trimEnd()))
    return fault("the data URL is not base64");
  const body = text
    .slice(comma + 1)
    .replaceAll(/\s+/g, "")
    .replace(/={1,2}$/, "");
  const foreign = /[^A-Za-z0-9+/_-]/.exec(body);
  if (foreign)
    return fault(`the base64 audio holds ${JSON.stringify(foreign[0])} at character ${foreign.index}`);
  if (body.length % 4 === 1) return fault("the base64 audio is cut off");
  return { outcome: "bytes", bytes: new Uint8Array(Buffer.from(body, "base64")) };
};
