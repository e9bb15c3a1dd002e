// The identifiers that the Hub knows (its list of licences), for what a corpus is likely to have.
const KNOWN: ReadonlySet<string> = new Set([
  "afl-3.0",
  "agpl-3.0",
  "apache-2.0",
  "bsd-2-clause",
  "bsd-3-clause",
  "bsd-3-clause-clear",
  "bsl-1.0",
  "c-uda",
  "cc",
  "cc-by-2.0",
  "cc-by-2.5",
  "cc-by-3.0",
  "cc-by-4.0",
  "cc-by-nc-2.0",
  "cc-by-nc-3.0",
  "cc-by-nc-4.0",
  "cc-by-nc-nd-3.0",
  "cc-by-nc-nd-4.0",
  "cc-by-nc-sa-2.0",
  "cc-by-nc-sa-3.0",
  "cc-by-nc-sa-4.0",
  "cc-by-nd-4.0",
  "cc-by-sa-3.0",
  "cc-by-sa-4.0",
  "cc0-1.0",
  "cdla-permissive-1.0",
  "cdla-permissive-2.0",
  "cdla-sharing-1.0",
  "eupl-1.1",
  "eupl-1.2",
  "gfdl",
  "gpl-2.0",
  "gpl-3.0",
  "isc",
  "lgpl-2.1",
  "lgpl-3.0",
  "mit",
  "mpl-2.0",
  "ms-pl",
  "ncsa",
  "odbl",
  "odc-by",
  "openrail",
  "pddl",
  "unlicense",
  "wtfpl",
  "zlib",
]);

// SPDX says more than the Hub asks for.
const SAME: Readonly<Record<string, string>> = {
  "odbl-1.0": "odbl",
  "odc-by-1.0": "odc-by",
  "pddl-1.0": "pddl",
  "gfdl-1.3": "gfdl",
};

/** What the front matter says of a licence: an identifier of the Hub, or `other` with a name of its own. */
export type LicenceTags =
  | { readonly license: string }
  | { readonly license: "other"; readonly license_name: string };

/** An SPDX identifier or a sentence as the Hub wants it; the card's text has the sentence. */
export const licenceTags = (licence: string): LicenceTags => {
  const plain = licence
    .trim()
    .toLowerCase()
    .replace(/-(?:only|or-later)$/, "");
  const known = SAME[plain] ?? plain;
  if (KNOWN.has(known)) return { license: known };
  const isName = /^[a-z0-9][a-z0-9.+-]*$/.test(plain);
  return { license: "other", license_name: isName ? plain : "see-the-card" };
};
