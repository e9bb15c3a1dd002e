const OPENING = "I want you to act like ";
const FROM = " from ";

/** Who a role profile says that the role is. */
export interface ProfileName {
  readonly name: string;
  /** The work it comes from; empty when the line does not say. */
  readonly source: string;
}

/**
 * Name and work in the first line of a released profile, `I want you to act like NAME from SOURCE.`; undefined when it
 * has no such line. The name ends at the first " from ", the work begins after the last one: titles hold the word too.
 */
export const profileName = (profile: string): ProfileName | undefined => {
  const line = profile.split(/\r?\n/).find((text) => text.includes(OPENING));
  if (line === undefined) return undefined;
  const rest = line.slice(line.indexOf(OPENING) + OPENING.length).trim();
  const first = rest.indexOf(FROM);
  if (first === -1) return rest === "" ? undefined : { name: withoutStop(rest), source: "" };
  const source = withoutStop(rest.slice(rest.lastIndexOf(FROM) + FROM.length).trim());
  const name = rest.slice(0, first).trim();
  return name === "" ? undefined : { name, source };
};

const withoutStop = (text: string): string => text.replace(/[.。]$/u, "").trim();

/** Names that differ only in case, spacing and punctuation are the same name: `D_Artagnan` is D'Artagnan. */
export const sameName = (a: string, b: string): boolean => letters(a) === letters(b);

const letters = (name: string): string =>
  name
    .normalize("NFKC")
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}]/gu, "");
