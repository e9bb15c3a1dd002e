/** `wins[i][j]` is how often system i beat system j, a tie being half a win for each. */
export type WinMatrix = readonly (readonly number[])[];

/** Groups of systems linked by any comparison, each ascending; one group means ranks are comparable. */
export function connectedComponents(wins: WinMatrix): readonly (readonly number[])[] {
  const linked = (i: number, j: number): boolean => (wins[i]?.[j] ?? 0) + (wins[j]?.[i] ?? 0) > 0;
  const components: (readonly number[])[] = [];
  const placed = new Set<number>();
  for (const system of wins.keys()) {
    if (placed.has(system)) continue;
    const component = [...reachable(wins.length, system, linked)].toSorted((a, b) => a - b);
    for (const member of component) placed.add(member);
    components.push(component);
  }
  return components;
}

/** Ford 1957: a maximum-likelihood fit exists when wins lead from every system to every other. */
export function stronglyConnected(wins: WinMatrix): boolean {
  const forward = reachable(wins.length, 0, (i, j) => (wins[i]?.[j] ?? 0) > 0);
  const backward = reachable(wins.length, 0, (i, j) => (wins[j]?.[i] ?? 0) > 0);
  return forward.size === wins.length && backward.size === wins.length;
}

/** Systems that lost nothing (`undefeated`) or won nothing (`winless`) though they were compared. */
export function extremes(wins: WinMatrix): {
  readonly undefeated: readonly number[];
  readonly winless: readonly number[];
} {
  const systems = [...wins.keys()];
  const won = (i: number): boolean => systems.some((j) => (wins[i]?.[j] ?? 0) > 0);
  const lost = (i: number): boolean => systems.some((j) => (wins[j]?.[i] ?? 0) > 0);
  return {
    undefeated: systems.filter((i) => won(i) && !lost(i)),
    winless: systems.filter((i) => lost(i) && !won(i)),
  };
}

function reachable(count: number, start: number, edge: (from: number, to: number) => boolean): Set<number> {
  const seen = new Set([start]);
  for (const from of seen) for (let to = 0; to < count; to += 1) if (edge(from, to)) seen.add(to);
  return seen;
}
