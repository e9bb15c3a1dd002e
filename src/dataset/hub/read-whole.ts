import { RemoteError } from "../../core/errors.ts";
import { authorization, contentUrl } from "./hub-calls.ts";
import type { HubWorld } from "./hub-world.ts";
import { expectedDigest, hasherFor, type RemoteFile } from "./remote-file.ts";
import { retryingFetch } from "./retrying-fetch.ts";

/** Text of a small file, verified. RemoteError `HUB_FILE_CORRUPT` when it is another one twice; HubFault. */
export const readWhole = async (
  world: HubWorld,
  at: { readonly repo: string; readonly commit: string },
  file: RemoteFile,
): Promise<string> => {
  for (let attempt = 1; ; attempt++) {
    const headers = { "accept-encoding": "identity", ...authorization(world) };
    const reply = await retryingFetch(world)(contentUrl(world, at, file.path), { headers });
    const bytes = new Uint8Array(await reply.arrayBuffer());
    const found = hasherFor(file).update(bytes).digest("hex");
    if (bytes.byteLength === file.bytes && found === expectedDigest(file))
      return new TextDecoder().decode(bytes);
    if (attempt < 2) continue;
    throw new RemoteError("HUB_FILE_CORRUPT", `${file.path} of ${at.repo} is not what the Hub says it is`, {
      hint: "run the same command again; if it stays so, push the data set anew",
    });
  }
};
