import type { ChannelEnd } from "./channel.ts";
import { keyChanged, keyUnknown, type HostKeys } from "./host-key.ts";

/** What ssh's complaints mean when no connection came to be. Words that are not known are `UNREACHABLE`, with those words. */
export const connectionEnd = (stderr: string, keys: HostKeys): ChannelEnd => {
  const refused = REFUSED.exec(stderr)?.[0].trim();
  return keyEnd(stderr, keys) ?? (refused === undefined ? unreachable(stderr) : loginEnd(refused));
};

const REFUSED = /^.*(?:Permission denied|authentication failures|No more authentication methods).*$/im;

function keyEnd(stderr: string, keys: HostKeys): ChannelEnd | undefined {
  const name = /host key (?:for|is known for) (\S+) (?:has changed|and)/i.exec(stderr)?.[1];
  const about = name === undefined ? keys : { ...keys, name };
  const type = /(?:for the|No) (\S+) (?:host )?key /.exec(stderr)?.[1] ?? "";
  if (/REVOKED HOST KEY/i.test(stderr)) {
    return {
      code: "HOST_KEY_CHANGED",
      reason: `the key of ${about.name} is marked as revoked in ${keys.file}`,
      hint: "do not connect; ask who runs that machine for its new key",
    };
  }
  if (/REMOTE HOST IDENTIFICATION HAS CHANGED/i.test(stderr)) {
    return keyChanged(about, `${type} ${/SHA256:[A-Za-z0-9+/]+/.exec(stderr)?.[0] ?? "another one"}`.trim());
  }
  if (/host key is known for|Host key verification failed/i.test(stderr)) {
    return keyUnknown(about, type === "" ? "another key" : `a key of kind ${type}`);
  }
  return undefined;
}

const loginEnd = (reason: string): ChannelEnd => ({
  code: "AUTH_FAILED",
  reason,
  hint: "check the user and the key (a passphrase: ssh-add KEY). For a second factor set ControlMaster and ControlPath in ssh_config and log in once in another terminal",
});

const unreachable = (stderr: string): ChannelEnd => ({ code: "UNREACHABLE", reason: lastWords(stderr) });

/** What a client of a shared connection says when it ends without the end mark. */
export const channelEnd = (code: number | null, signal: string | null, stderr: string): ChannelEnd => {
  if (/open refused by peer|open failed/i.test(stderr)) {
    return {
      code: "CHANNEL_REFUSED",
      reason: "no channel could be opened: the host allows no more sessions on one connection",
      again: "no-channel",
    };
  }
  if (code !== 255) {
    return {
      code: "CONNECTION_LOST",
      reason: `the shell there ended without saying what became of it (${signal ?? `exit ${code}`})`,
    };
  }
  return { code: "CONNECTION_LOST", reason: "the connection was lost", again: "dead-connection" };
};

function lastWords(stderr: string): string {
  const lines = stderr
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "");
  return lines.at(-1) ?? "ssh ended without a word";
}
