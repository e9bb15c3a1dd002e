import type { SshEndpoint } from "../profile.ts";
import type { Access } from "./access.ts";
import { isOneLine } from "./ssh-config.ts";
import { UserError } from "../../core/errors.ts";

/**
 * ssh_config of our own around the person's: strict and silent, for the jump hosts too, which get nothing of ssh's command line
 * but the name of this file. What stands before the person's file cannot be changed by it; what stands behind is our default.
 * `theirs` is the text of the file that the profile names.
 */
export const configText = (endpoint: SshEndpoint, access: Access, theirs: string | undefined): string =>
  [
    "Host *",
    "BatchMode yes",
    "StrictHostKeyChecking yes",
    "UpdateHostKeys no",
    ...(access.knownHosts ? [`UserKnownHostsFile ${quoted(access.knownHosts)}`] : []),
    ...(endpoint.identityFile ? [`IdentityFile ${quoted(endpoint.identityFile)}`, "IdentitiesOnly yes"] : []),
    `ConnectTimeout ${access.connectSeconds ?? access.deadlineSeconds}`,
    "ConnectionAttempts 1",
    // A dead peer is noticed after a quarter of a minute; an interruption of a few seconds is survived.
    "ServerAliveInterval 5",
    "ServerAliveCountMax 3",
    "LogLevel ERROR",
    "PermitLocalCommand no",
    "RemoteCommand none",
    "RequestTTY no",
    "ForwardAgent no",
    "ForwardX11 no",
    // Theirs word for word: an included file is refused where its group may write it, unlike one that is named to ssh.
    ...(theirs === undefined ? ["Include ~/.ssh/config", "Include /etc/ssh/ssh_config"] : [theirs]),
    "Host *",
    // Done by the processor itself.
    "Ciphers ^aes128-gcm@openssh.com,aes256-gcm@openssh.com",
    "",
  ].join("\n");

// Percent signs are tokens there. A name with a quote cannot be written at all.
function quoted(path: string): string {
  if (!isOneLine(path) || path.includes('"')) {
    throw new UserError("SSH_CONFIG_INVALID", `${JSON.stringify(path)} cannot be named in ssh_config`);
  }
  return `"${path.replaceAll("%", "%%")}"`;
}
