import { readFile } from "node:fs/promises";
import ssh2, {
  type AnyAuthMethod,
  type BaseAgent,
  type IdentityCallback,
  type ParsedKey,
  type PublicKeyEntry,
} from "ssh2";
import { readIfExists } from "../../core/files.ts";
import type { ResolvedHost } from "./ssh-config.ts";

const { OpenSSHAgent, utils } = ssh2;

export interface Login {
  readonly methods: readonly AnyAuthMethod[];
  /** Keys that could not be used, in words, for the error of a refused login. */
  readonly unused: readonly string[];
}

/**
 * The ways to log in, in the order of OpenSSH: named keys, the agent, default keys. A key behind a passphrase is used only through
 * the agent: no passphrase ever comes near this program.
 */
export const loginOf = async (host: ResolvedHost): Promise<Login> => {
  const unused: string[] = [];
  const files: AnyAuthMethod[] = [];
  const locked: ParsedKey[] = [];
  for (const path of host.identityFiles) {
    const key = await readKey(path);
    if (key === undefined) continue;
    if (typeof key === "string") {
      unused.push(`${path}: ${key}`);
      const known = await publicKey(path);
      if (known) locked.push(known);
    } else files.push({ type: "publickey", username: host.user, key });
  }
  const agents: AnyAuthMethod[] =
    host.agent === null || (host.identitiesOnly && locked.length === 0)
      ? []
      : [
          {
            type: "agent",
            username: host.user,
            agent: agentWith(host.agent, host.identitiesOnly ? locked : undefined),
          },
        ];
  return { methods: host.identitiesOnly ? [...files, ...agents] : [...agents, ...files], unused };
};

// A key, why it cannot be used, or undefined where there is none.
async function readKey(path: string): Promise<ParsedKey | string | undefined> {
  let data: Buffer;
  try {
    data = await readFile(path);
  } catch (error) {
    return error instanceof Error && "code" in error && error.code === "ENOENT"
      ? undefined
      : "it cannot be read";
  }
  const key = utils.parseKey(data);
  if (!(key instanceof Error)) return key.isPrivateKey() ? key : "it is not a private key";
  return /passphrase|encrypted/i.test(key.message)
    ? "it has a passphrase and was not unlocked in the agent"
    : "its format is not understood";
}

async function publicKey(path: string): Promise<ParsedKey | undefined> {
  const text = await readIfExists(`${path}.pub`);
  const key = text === undefined ? undefined : utils.parseKey(text);
  return key instanceof Error ? undefined : key;
}

// With IdentitiesOnly the agent may answer for the named keys only: servers cut off who offers too many.
function agentWith(socket: string, only: readonly ParsedKey[] | undefined): BaseAgent<ParsedKey> {
  const agent = new OpenSSHAgent(socket);
  if (only === undefined) return agent;
  return new (class extends OpenSSHAgent {
    override getIdentities(callback: IdentityCallback<ParsedKey>): void {
      agent.getIdentities((error, keys) => {
        if (error) callback(error);
        else callback(undefined, keys?.filter((key) => isOneOf(key, only)) ?? []);
      });
    }
  })(socket);
}

const isOneOf = (key: ParsedKey | PublicKeyEntry, wanted: readonly ParsedKey[]): boolean =>
  "equals" in key && wanted.some((each) => each.equals(key));
