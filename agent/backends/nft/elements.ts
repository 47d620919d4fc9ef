/** Elements of a set, or of a set whose elements have comments. */
export type Elements<Key> = ReadonlySet<Key> | ReadonlyMap<Key, string>;

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
