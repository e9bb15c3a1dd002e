import type { SshAccess } from "../profile.ts";

/** How a machine is reached, by the profile and by who asks. */
export interface Access extends SshAccess {
  /** Seconds to connect and to log in; default: `deadlineSeconds`, as for a short command. */
  readonly connectSeconds?: number;
}

// Whoever asks how things are sits in front of the terminal.
const IMPATIENT_SECONDS = 10;

/** The same for a question of a person who waits for the answer. */
export const impatiently = <Asked extends SshAccess>(access: Asked): Asked & Access => ({
  ...access,
  connectSeconds: Math.min(access.deadlineSeconds, IMPATIENT_SECONDS),
});
