import { Lexer, LineCounter, parseDocument, type Document, type YAMLError } from "yaml";
import type { z } from "zod";
import { messageOf, UserError } from "./errors.ts";
import { readIfExists } from "./files.ts";
import { issueText, pathText, valueIn, plainIssues } from "./issues.ts";
import { knownKeys } from "./known-keys.ts";
import { didYouMean } from "./near-matches.ts";

/** One thing wrong with a file, with its place. */
export interface Problem {
  /** Dotted path of the value, e.g. `training.learningRate`. */
  readonly path: string;
  readonly message: string;
  /** `file:line:column`, 1-based. */
  readonly place: string;
}

/** A parsed YAML text that can say where each value stands. */
export interface YamlFile {
  readonly file: string;
  readonly value: unknown;
  /** `file:line:column` of the value at a path, or of its nearest existing parent. */
  place(path: readonly PropertyKey[]): string;
}

/** UserError with every problem of a file on a line of its own. */
export class ProblemsError extends UserError {
  readonly problems: readonly Problem[];

  constructor(code: string, headline: string, problems: readonly Problem[]) {
    const lines = problems.map(({ place, path, message }) => `  ${placedPath(place, path)}: ${message}`);
    super(code, `${headline}\n${lines.join("\n")}`);
    this.problems = problems;
  }
}

/** Place and path for people; a place that names the path already (`--set training.seed`) says it once. */
export const placedPath = (place: string, path: string): string =>
  path === "" || place.endsWith(` ${path}`) ? place : `${place} ${path}`;

/** Reads a YAML file with its positions. Errors: `FILE_MISSING`, or `YAML_INVALID` listing every syntax problem. */
export const readYaml = async (file: string): Promise<YamlFile> => {
  const text = await readIfExists(file);
  if (text === undefined) throw new UserError("FILE_MISSING", `There is no file ${file}`);
  return parseYaml(text, file);
};

/**
 * YAML text with its positions; `file` names it in messages. ProblemsError `YAML_INVALID`: syntax, a key that stands twice,
 * text that is not UTF-8, and aliases that lead nowhere, contain themselves or multiply without end.
 */
export const parseYaml = (text: string, file: string): YamlFile => {
  const lines = new LineCounter();
  const at = (offset: number): string => {
    const { line, col } = lines.linePos(offset);
    return `${file}:${Math.max(line, 1)}:${Math.max(col, 1)}`;
  };
  const refuse = (problems: readonly { readonly message: string; readonly offset: number }[]): never => {
    throw new ProblemsError(
      "YAML_INVALID",
      `${file} is not valid YAML:`,
      problems.map(({ message, offset }) => ({ path: "(syntax)", message, place: at(offset) })),
    );
  };
  const deep = tooDeep(text);
  if (deep !== undefined) {
    lines.addNewLine(0);
    for (const { index } of text.slice(0, deep).matchAll(/\n/g)) lines.addNewLine(index + 1);
    refuse([{ message: "nested too deeply", offset: deep }]);
  }
  const document = parseDocument(text, {
    lineCounter: lines,
    prettyErrors: false,
    uniqueKeys: true,
    logLevel: "error",
  });
  const foreign = text.indexOf(NOT_UTF8);
  if (foreign !== -1)
    refuse([{ message: "this is not UTF-8 text: save the file as UTF-8", offset: foreign }]);
  if (document.errors.length > 0) {
    refuse(document.errors.map((error) => ({ message: syntaxText(error), offset: error.pos[0] })));
  }
  const start = document.contents?.range?.[0] ?? 0;
  try {
    const value: unknown = document.toJS();
    if (containsItself(value, [])) refuse([{ message: "an alias contains itself", offset: start }]);
    return { file, value, place: (path) => at(offsetOf(document, path)) };
  } catch (error) {
    if (error instanceof ProblemsError) throw error;
    return refuse([{ message: expansionText(messageOf(error)), offset: start }]);
  }
};

// What a decoder puts in place of bytes that are no UTF-8.
const NOT_UTF8 = "\ufffd";
const DEEP = /call stack/i;

const DEEPEST = 100;

// Offset at which brackets, or indented blocks, stand in one another more deeply than any file of ours. The parser calls
// itself for each level; where the stack ends inside one of its regular expressions, Node ends the whole program.
function tooDeep(text: string): number | undefined {
  const block = new RegExp(`^(?: |\\t|[-?] ){${DEEPEST * 4},}`, "m").exec(text);
  let offset = 0;
  let depth = 0;
  for (const token of new Lexer().lex(text)) {
    if (token === "[" || token === "{") depth++;
    else if (token === "]" || token === "}") depth--;
    if (depth > DEEPEST) return offset;
    // The lexer's own marks of documents and scalars are no part of the text.
    if (text.startsWith(token, offset)) offset += token.length;
  }
  return block?.index;
}

function syntaxText(error: YAMLError): string {
  if (error.code === "MULTIPLE_DOCS") return "a second document begins here; a file holds one";
  return DEEP.test(error.message) ? "nested too deeply" : error.message;
}

function expansionText(message: string): string {
  if (message.startsWith("Excessive alias count")) return "its aliases multiply to too many values";
  return DEEP.test(message) ? "nested too deeply" : message;
}

function containsItself(value: unknown, above: readonly object[]): boolean {
  if (typeof value !== "object" || value === null) return false;
  if (above.includes(value)) return true;
  const inside = [...above, value];
  return Object.values(value).some((inner) => containsItself(inner, inside));
}

/**
 * Every issue of a failed schema with the place of its value. An unknown key names the one that may be meant: first of
 * all one that is missing there; of the others only with the schema itself.
 */
export const problemsOf = (error: z.ZodError, yaml: YamlFile, schema?: z.core.$ZodType): Problem[] =>
  plainIssues(error.issues).flatMap((issue): Problem[] => {
    if (issue.path.length === 0 && issue.code === "invalid_type") {
      return [{ path: pathText([]), message: wholeFileText(yaml.value), place: yaml.place([]) }];
    }
    if (issue.code === "unrecognized_keys") {
      return issue.keys.map((key) => ({
        path: pathText([...issue.path, key]),
        message: `unknown key${meantKey(key, issue.path, { error, yaml, schema })}`,
        place: yaml.place([...issue.path, key]),
      }));
    }
    return [
      {
        path: pathText(issue.path),
        message: issueText(issue, valueIn(yaml.value, issue.path)),
        place: yaml.place(issue.path),
      },
    ];
  });

interface Failed {
  readonly error: z.ZodError;
  readonly yaml: YamlFile;
  readonly schema: z.core.$ZodType | undefined;
}

function meantKey(key: string, above: readonly PropertyKey[], { error, yaml, schema }: Failed): string {
  const missing = plainIssues(error.issues).flatMap(({ path }) => {
    const isHere = path.length === above.length + 1 && above.every((part, index) => part === path[index]);
    return isHere && valueIn(yaml.value, path) === undefined ? [String(path.at(-1))] : [];
  });
  const near = didYouMean(key, missing);
  if (near !== "" || !schema) return near;
  return didYouMean(
    key,
    knownKeys(schema, yaml.value, above).filter(
      (known) => valueIn(yaml.value, [...above, known]) === undefined,
    ),
  );
}

/** Says of a file's whole content that it is no map. */
export const wholeFileText = (value: unknown): string =>
  value === null || value === undefined
    ? "the file is empty; expected keys and values"
    : "expected keys and values";

/** A YAML file through a schema; `ProblemsError` lists every problem as `file:line:column`. */
export const readYamlAs = async <Schema extends z.ZodType>(
  file: string,
  schema: Schema,
): Promise<z.output<Schema>> => {
  const yaml = await readYaml(file);
  const parsed = schema.safeParse(yaml.value);
  if (!parsed.success)
    throw new ProblemsError("FILE_INVALID", `${file} has problems:`, problemsOf(parsed.error, yaml, schema));
  return parsed.data;
};

function offsetOf(document: Document, path: readonly PropertyKey[]): number {
  for (let length = path.length; length > 0; length--) {
    const node = keyNode(document, path.slice(0, length));
    if (node !== undefined) return node;
  }
  return document.contents?.range?.[0] ?? 0;
}

// The key is where a reader looks; the value may be lines below it.
function keyNode(document: Document, path: readonly PropertyKey[]): number | undefined {
  const parent: unknown = path.length === 1 ? document.contents : document.getIn(path.slice(0, -1), true);
  const last = path.at(-1);
  if (isMapLike(parent)) {
    const pair = parent.items.find((item) => String(item.key?.value) === String(last));
    return pair?.key?.range?.[0];
  }
  const node: unknown = document.getIn([...path], true);
  return hasRange(node) ? node.range[0] : undefined;
}

interface MapLike {
  readonly items: readonly {
    readonly key?: { readonly value?: unknown; readonly range?: readonly number[] };
  }[];
}

function isMapLike(node: unknown): node is MapLike {
  if (typeof node !== "object" || node === null || !("items" in node) || !Array.isArray(node.items))
    return false;
  const first: unknown = node.items[0];
  return typeof first === "object" && first !== null && "key" in first;
}

function hasRange(node: unknown): node is { range: readonly [number, number, number] } {
  return typeof node === "object" && node !== null && "range" in node && Array.isArray(node.range);
}
