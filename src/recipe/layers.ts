/** A nested map as it comes out of YAML. */
export type Tree = Readonly<Record<string, unknown>>;
export type Path = readonly PropertyKey[];

/** One source of values. Later layers win over earlier ones. */
export interface Layer {
  readonly kind: "default" | "file" | "flag";
  readonly value: Tree;
  /** Where a value (or its nearest parent) is written: `file:line:column`, or the flag. */
  place(path: Path): string;
}

export const isTree = (value: unknown): value is Tree =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** All layers as one map: maps merge key by key, lists and single values replace, alternatives replace whole. */
export const mergeLayers = (layers: readonly Layer[]): Tree =>
  layers.reduce<Tree>((below, layer) => mergeTrees(below, layer.value, []), {});

/** The value at a path, or undefined. */
export const valueAt = (value: unknown, path: Path): unknown =>
  path.reduce<unknown>((inner, key) => {
    if (Array.isArray(inner)) return inner[Number(key)] as unknown;
    return isTree(inner) && Object.hasOwn(inner, String(key)) ? inner[String(key)] : undefined;
  }, value);

/** The topmost layer that gives the value at `path`. */
export const layerOf = (layers: readonly Layer[], path: Path): Layer | undefined =>
  layers.findLast((layer) => valueAt(layer.value, path) !== undefined);

/** Where to look for a value: its own place or, for one that is missing, its nearest parent in the topmost file. */
export const placeOf = (layers: readonly Layer[], path: Path): string => {
  const written = layers.filter((layer) => layer.kind !== "default");
  for (let length = path.length; length > 0; length--) {
    const head = path.slice(0, length);
    const layer = layerOf(written, head);
    if (layer !== undefined) return layer.place(head);
  }
  return (written.findLast((layer) => layer.kind === "file") ?? written.at(-1))?.place([]) ?? "(built in)";
};

/** A map with one value at a dotted path. */
export const treeWith = (path: Path, value: unknown): Tree => {
  const tree = path.reduceRight<unknown>((inner, key) => ({ [String(key)]: inner }), value);
  return isTree(tree) ? tree : {};
};

/** Paths of all single values and lists, in the order of the map. */
export const leavesOf = (value: unknown, path: Path = []): Path[] =>
  isTree(value) ? Object.entries(value).flatMap(([key, inner]) => leavesOf(inner, [...path, key])) : [path];

function mergeTrees(below: Tree, above: Tree, path: Path): Tree {
  const merged = new Map<string, unknown>(Object.entries(below));
  for (const [key, value] of Object.entries(above)) {
    const lower = merged.get(key);
    const inner = [...path, key];
    const mergeable = isTree(lower) && isTree(value) && !replacesWhole(inner, lower, value);
    merged.set(key, mergeable ? mergeTrees(lower, value, inner) : value);
  }
  return Object.fromEntries(merged);
}

// `steps` over a parent's `epochs`, or another kind of model, is another choice and not an addition to the first.
function replacesWhole(path: Path, below: Tree, above: Tree): boolean {
  const dotted = path.join(".");
  if (dotted === "training.duration") return true;
  return dotted === "model" && above["kind"] !== undefined && above["kind"] !== below["kind"];
}
