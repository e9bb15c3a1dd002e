import { RemoteError } from "../../core/errors.ts";
import type { RefOf } from "../schema.ts";
import { askHost, type HostScripts } from "./ask-host.ts";
import type { Hosts } from "./hosts.ts";
import type { SshProfile } from "./launcher.ts";
import { engineOf } from "./observe.ts";

// TERM, three seconds, KILL, twenty for a container, ten for the wrapper, three more, and the looking in between.
const NOW_DEADLINE = 90_000;

/**
 * `graceful`: asks for save-and-stop, and returns at once; asking again changes nothing. `now`: ends every process of the job,
 * each verified on its host, and its container, and returns when they are gone. RemoteErrors `HOST_UNKNOWN`, `CANCEL_FAILED`.
 */
export const cancelSsh = async (
  ref: RefOf<"ssh">,
  mode: "graceful" | "now",
  {
    hosts,
    scripts,
    profile,
  }: { readonly hosts: Hosts; readonly scripts: HostScripts; readonly profile: SshProfile },
): Promise<"requested" | "already-ended"> => {
  const host = hosts.named(ref.host);
  if (host === undefined) {
    throw new RemoteError("HOST_UNKNOWN", `${ref.host} is not among the hosts of the profile any more`);
  }
  const args = [mode, ref.marker, ref.folder, engineOf(profile)];
  const deadline = mode === "now" ? { deadline: NOW_DEADLINE } : {};
  const reply = await askHost(host, { script: scripts.cancel, args, ...deadline });
  if (reply.kind === "lines") return reply.lines[0]?.word === "ended" ? "already-ended" : "requested";
  throw new RemoteError("CANCEL_FAILED", `${ref.marker} may not have been stopped: ${reply.reason}`, {
    hint: reply.hint ?? "ask again: it changes nothing when the first request arrived",
  });
};
