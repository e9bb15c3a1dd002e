/** `dryRun` → `dry-run`: options are camelCase in code and kebab-case on the command line. */
export const kebab = (name: string): string =>
  name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
