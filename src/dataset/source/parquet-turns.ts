/**
 * A row with its turns as a list of turns. Older `datasets` stored a sequence of dicts as a dict of lists, which comes
 * back as `{user_text: […], role_text: […]}`.
 */
export const withTurns = (row: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> => {
  const turns = unwrapped(row["turns"]);
  if (Array.isArray(turns) || typeof turns !== "object" || turns === null) return { ...row, turns };
  const columns = Object.entries(turns).map(([name, values]): [string, unknown] => [name, unwrapped(values)]);
  const lengths = columns.map(([, values]) => (Array.isArray(values) ? values.length : 0));
  return {
    ...row,
    turns: Array.from({ length: Math.max(0, ...lengths) }, (_, index) =>
      Object.fromEntries(
        columns.map(([name, values]) => [name, Array.isArray(values) ? values[index] : undefined]),
      ),
    ),
  };
};

// A list that its writer did not mark as one comes back as the groups it is stored in.
function unwrapped(value: unknown): unknown {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
  const entries = Object.entries(value);
  const [only] = entries;
  if (entries.length !== 1 || only === undefined || !["list", "bag", "array"].includes(only[0])) return value;
  const items: unknown = only[1];
  return Array.isArray(items) ? items.map(element) : items;
}

function element(item: unknown): unknown {
  if (typeof item !== "object" || item === null) return item;
  const [only, ...others] = Object.entries(item);
  return only && others.length === 0 && ["element", "item", "array_element"].includes(only[0])
    ? only[1]
    : item;
}
