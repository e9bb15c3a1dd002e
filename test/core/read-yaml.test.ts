import { mkdtemp, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { z } from "zod";
import { parseYaml, problemsOf, ProblemsError, readYamlAs } from "../../src/core/read-yaml.ts";
import { removeFolder } from "../support/remove-folder.ts";

const Schema = z.strictObject({
  name: z.string(),
  training: z.strictObject({ steps: z.int(), rates: z.array(z.number()) }),
});

const TEXT = `name: 3
training:
  steps: many
  rates: [1, two]
  stesp: 5
`;

describe("problemsOf", () => {
  it("gives every problem its file, line and column", () => {
    const yaml = parseYaml(TEXT, "r.yaml");
    const parsed = Schema.safeParse(yaml.value);
    if (parsed.success) throw new Error("should not parse");
    const problems = problemsOf(parsed.error, yaml);
    expect(problems.map(({ place, path }) => `${place} ${path}`)).toEqual([
      "r.yaml:1:1 name",
      "r.yaml:3:3 training.steps",
      "r.yaml:4:14 training.rates[1]",
      "r.yaml:5:3 training.stesp",
    ]);
  });

  it("points at the nearest parent of a missing value", () => {
    const yaml = parseYaml("name: a\ntraining:\n  steps: 1\n", "r.yaml");
    const parsed = Schema.safeParse(yaml.value);
    if (parsed.success) throw new Error("should not parse");
    expect(problemsOf(parsed.error, yaml)[0]).toMatchObject({ path: "training.rates", place: "r.yaml:2:1" });
  });
});

describe("an unknown key", () => {
  const messages = (text: string, schema: z.ZodType = Schema): readonly string[] => {
    const yaml = parseYaml(text, "r.yaml");
    const parsed = schema.safeParse(yaml.value);
    return parsed.success
      ? []
      : problemsOf(parsed.error, yaml, schema).map(({ path, message }) => `${path}: ${message}`);
  };

  it("names the missing one that may be meant, even if another is nearer", () => {
    const Source = z.strictObject({ trainReference: z.string(), trainRefernces: z.string().optional() });
    expect(messages("trainRefernce: a\n", Source)).toEqual([
      "trainReference: missing; expected string",
      "trainRefernce: unknown key; did you mean trainReference?",
    ]);
    // A caller without a schema of its own has that much.
    const yaml = parseYaml("trainRefernce: a\n", "r.yaml");
    const failed = Source.safeParse(yaml.value);
    expect(failed.error && problemsOf(failed.error, yaml).map(({ message }) => message)).toContain(
      "unknown key; did you mean trainReference?",
    );
  });

  it("names one that may be left out, of the alternative that the value is, and none that is there", () => {
    const Kinds = z.strictObject({
      parts: z.array(
        z.discriminatedUnion("by", [
          z.strictObject({ by: z.literal("seed"), count: z.int().default(1) }),
          z.strictObject({ by: z.literal("folds"), counts: z.int().optional() }),
        ]),
      ),
      named: z.record(z.string(), z.strictObject({ model: z.string().nullable().optional() })).optional(),
    });
    expect(messages("parts: [{ by: folds, cuonts: 1 }]\n", Kinds)).toEqual([
      "parts[0].cuonts: unknown key; did you mean counts?",
    ]);
    expect(messages("parts: [{ by: seed, count: 1, coutn: 1 }]\n", Kinds)).toEqual([
      "parts[0].coutn: unknown key",
    ]);
    expect(messages("parts: []\nnamed: { en: { modle: a } }\n", Kinds)).toEqual([
      "named.en.modle: unknown key; did you mean model?",
    ]);
  });

  it("is told so of any file that is read through a schema", async () => {
    const folder = await mkdtemp(join(tmpdir(), "understudy-yaml-"));
    onTestFinished(() => removeFolder(folder));
    const file = join(folder, "a.yaml");
    await writeFile(file, "naem: a\n");
    await expect(readYamlAs(file, z.strictObject({ name: z.string().optional() }))).rejects.toThrow(
      `${file}:1:1 naem: unknown key; did you mean name?`,
    );
  });
});

describe("parseYaml", () => {
  it("lists syntax errors and duplicate keys with their place", () => {
    expect(() => parseYaml("a: 1\na: 2\n", "d.yaml")).toThrow(ProblemsError);
    expect(() => parseYaml("a: 1\na: 2\n", "d.yaml")).toThrow(/d\.yaml:2:1/);
    expect(() => parseYaml("a: [1\nb: 2", "d.yaml")).toThrow(/d\.yaml:/);
  });

  it("survives an empty file", () => {
    expect(parseYaml("", "e.yaml").place(["a"])).toBe("e.yaml:1:1");
  });

  it.each([
    ["brackets", `a: 1\nb: ${"[".repeat(5_000)}\n`, "d.yaml:2:104"],
    ["braces after quoted brackets", `a: "[[[["\nb: ${"{x: ".repeat(150)}\n`, "d.yaml:2:404"],
    ["lists in lists", `a:\n${"- ".repeat(5_000)}b\n`, "d.yaml:2:1"],
    [
      "blocks in blocks",
      Array.from({ length: 600 }, (_, at) => `${" ".repeat(at)}k:`).join("\n"),
      "d.yaml:401:1",
    ],
  ])("refuses %s that end no stack, with the place", (_, text, place) => {
    expect(() => parseYaml(text, "d.yaml")).toThrow(`${place} (syntax): nested too deeply`);
  });

  it("takes what a person may write: fifty levels, and text with many brackets or spaces", () => {
    const levels = Array.from({ length: 50 }, (_, at) => `${"  ".repeat(at)}k:`).join("\n");
    expect(parseYaml(levels, "d.yaml").place(["k"])).toBe("d.yaml:1:1");
    expect(parseYaml(`a: "${"[".repeat(500)}"\nb: |\n  ${"{".repeat(500)}\n`, "d.yaml").value).toMatchObject({
      a: "[".repeat(500),
    });
  });
});
