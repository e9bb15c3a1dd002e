import { UserError } from "./errors.ts";

/** Credentials by name. Values are read when they are needed and masked in any text that could be shown or stored. */
export interface Secrets {
  /** The value, or UserError `SECRET_MISSING`. */
  read(name: string): string;
  has(name: string): boolean;
  /** The text with every known secret value replaced by `[NAME]`. */
  mask(text: string): string;
}

const SHORTEST_MASKED = 6;

/** Secrets out of an environment; only names that look like credentials are masked. */
export const secretsFrom = (environment: Readonly<Record<string, string | undefined>>): Secrets => {
  const known = Object.entries(environment).filter(
    (entry): entry is [string, string] =>
      /(TOKEN|SECRET|KEY|PASSWORD|CREDENTIAL)/.test(entry[0]) && (entry[1]?.length ?? 0) >= SHORTEST_MASKED,
  );
  return {
    has: (name) => Boolean(environment[name]),
    read: (name) => {
      const value = environment[name];
      if (!value) {
        throw new UserError("SECRET_MISSING", `The environment variable ${name} is not set`, {
          hint: `set ${name} in the environment of this one command; it is never written to disk`,
        });
      }
      return value;
    },
    mask: (text) => known.reduce((masked, [name, value]) => masked.replaceAll(value, `[${name}]`), text),
  };
};
