import { InternalError } from "../../core/errors.ts";
import type { Transport } from "../transport/transport.ts";
import { mustWrite } from "../transport/index.ts";
import { runScript } from "./ask.ts";

/**
 * Puts secrets where the starter of a job reads them once and deletes them: one file for each name (mode 0600) in a folder of
 * mode 0700. Values travel on standard input alone. RemoteErrors `TRANSPORT_…`; `FAR_DISK_FULL`; `FAR_COMMAND_FAILED` when the filesystem cannot keep
 * the files private, which are gone then.
 */
export const secretFile = async (
  t: Transport,
  folder: string,
  secrets: Readonly<Record<string, string>>,
): Promise<void> => {
  for (const [name, value] of Object.entries(secrets)) {
    if (!/^[A-Za-z_][A-Za-z0-9_]*$/.test(name)) {
      throw new InternalError("VARIABLE_NAME", `"${name}" cannot be the name of a secret`);
    }
    // oxlint-disable-next-line no-await-in-loop -- one after the other into one folder
    const writing = { what: `store the secret ${name}`, folder, bytes: Buffer.byteLength(value) };
    const question = { script: STORE, args: [folder, name], what: writing.what, stdin: value };
    await mustWrite(t, await runScript(t, question), writing);
  }
};

// The folder must be ours: in a shared folder somebody else could have made it before. Its last digits alone count, because a
// group's folder hands on its setgid bit.
const STORE = [
  "umask 077",
  'mkdir -p "${1%/*}" || exit 1',
  'mkdir -m 700 "$1" 2>/dev/null || { [ -d "$1" ] && [ ! -h "$1" ] && chmod 700 "$1"; } || { echo "$1 cannot be made" >&2; exit 1; }',
  'private() { found=$(stat -c %u:%a "$1") && case $found in "$(id -u)":*"$2") ;; *) return 1 ;; esac; }',
  'private "$1" 700 || { echo "$1 cannot be kept private ($(stat -c "owner %U, mode %a" "$1"))" >&2; exit 1; }',
  'cat >"$1/$2.new" && chmod 600 "$1/$2.new" && private "$1/$2.new" 600 && mv -f "$1/$2.new" "$1/$2" && exit 0',
  'rm -f "$1/$2.new"',
  'echo "$1/$2 cannot be kept private" >&2',
  "exit 1",
].join("\n");
