import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { readRoles } from "../../../src/dataset/source/roles.ts";
import { projectOf, ROLES } from "./support.ts";

const refused = async (roles: unknown): Promise<string> => {
  const project = await projectOf({ format: "manifest" }, { "roles.json": JSON.stringify(roles) });
  const file = join(project.datasets, "given", "roles.json");
  const error: unknown = await readRoles(file).catch((thrown: unknown) => thrown);
  return error instanceof Error ? error.message.replace(file, "roles.json") : "";
};

describe("a role manifest that is none", () => {
  it("names the role, the field and what may stand there", async () => {
    const [thor, dorr] = ROLES;
    expect(
      await refused([
        thor,
        { ...dorr, language: "fr", slug: "Dorr!" },
        { stem: "", slug: "x" },
        { ...thor, extra: 1 },
        7,
      ]),
    ).toBe(
      [
        "roles.json is not a role manifest:",
        '  [1] role "Prof. G.H. Dorr": slug: must match pattern /^[a-z0-9_]+$/, not "Dorr!"',
        '  [1] role "Prof. G.H. Dorr": language: expected en or zh, not "fr"',
        '  [2] a role: stem: too small: expected string to have >=1 characters, not ""',
        "  [2] a role: displayName: missing; expected string",
        "  [2] a role: language: missing; expected en or zh",
        "  [2] a role: source: missing; expected string",
        "  [2] a role: heldOut: missing; expected boolean",
        '  [3] role "Thor": unknown key extra',
        "  [4] a role: expected object, not 7",
      ].join("\n"),
    );
  });

  it("is no list", async () => {
    expect(await refused({})).toBe(
      "roles.json is not a role manifest:\n  expected array, not keys and values",
    );
  });
});
