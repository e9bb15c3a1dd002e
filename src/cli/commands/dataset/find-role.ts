import { UserError } from "../../../core/errors.ts";
import { didYouMean } from "../../../core/near-matches.ts";
import type { LockedRole } from "../../../dataset/index.ts";

/** A role by id, name or file stem. UserError `ROLE_UNKNOWN`. */
export const findRole = <Role extends Pick<LockedRole, "id" | "name" | "stem">>(
  { roles }: { readonly roles: readonly Role[] },
  wanted: string,
): Role => {
  const form = wanted.normalize("NFC");
  const found = roles.find(({ id, name, stem }) => [id, name, stem].includes(form));
  if (found) return found;
  const known = roles.flatMap(({ id, name, stem }) => [id, name, stem]);
  throw new UserError(
    "ROLE_UNKNOWN",
    `There is no role "${wanted}"${didYouMean(wanted, [...new Set(known)])}`,
    { hint: `roles here: ${roles.map(({ id }) => id).join(", ")}` },
  );
};
