/** Elements of a set, or of a set whose elements have comments. */
export type Elements<Key> = ReadonlySet<Key> | ReadonlyMap<Key, string>;

/** Changes of a set: true for an element that is added, false for one that is deleted. */
export type ElementChanges = ReadonlyMap<string, boolean>;

/** Elements per line: nft is slow with many lines, and needs much memory for long ones. */
const PER_LINE = 500;

/** The lines that turn the elements of a set from `before` into `after`. `text` writes an element without its comment. */
export function elementLines<Key>(
  table: string,
  set: string,
  before: Elements<Key>,
  after: Elements<Key>,
  text: (key: Key) => string,
): string[] {
  const differs = (key: Key) => stateOf(before, key) !== stateOf(after, key);
  const added = [...after.keys()].filter(differs).map((key) => {
    const comment = stateOf(after, key);
    return typeof comment === "string" ? `${text(key)} comment "${comment}"` : text(key);
  });
  return [
    ...lines(`delete element ${table} ${set}`, [...before.keys()].filter(differs).map(text)),
    ...lines(`add element ${table} ${set}`, added),
  ];
}

function stateOf<Key>(elements: Elements<Key>, key: Key): string | boolean | undefined {
  return "get" in elements ? elements.get(key) : elements.has(key);
}

function lines(command: string, elements: readonly string[]): string[] {
  const found: string[] = [];
  for (let i = 0; i < elements.length; i += PER_LINE)
    found.push(`${command} { ${elements.slice(i, i + PER_LINE).join(", ")} }`);
  return found;
}

/** The changes that make `before` as `desired`; elements that `desired` does not name are deleted if it is `complete`. */
export function changesOf(
  before: ReadonlySet<string>,
  desired: ElementChanges,
  complete: boolean,
): Map<string, boolean> {
  const changes = new Map([...desired].filter(([one, is]) => is !== before.has(one)));
  if (complete) for (const one of before) if (!desired.has(one)) changes.set(one, false);
  return changes;
}

/** The elements that are added, or those that are deleted. */
export function elementsOf(changes: ElementChanges, added: boolean): Set<string> {
  return new Set([...changes].flatMap(([one, is]) => (is === added ? [one] : [])));
}

/** Changes a set. */
export function change(set: Set<string>, changes: ElementChanges): void {
  for (const [one, is] of changes) {
    if (is) set.add(one);
    else set.delete(one);
  }
}
