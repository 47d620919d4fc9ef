/** Names that are kept. */
const MOST_KEPT = 4_096;

/** Keeps a name until a moment; the oldest one is forgotten if there are too many. */
export function keepUntil(all: Map<string, number>, name: string, until: number): void {
  all.delete(name);
  all.set(name, until);
  const [oldest] = all.keys();
  if (all.size > MOST_KEPT && oldest !== undefined) all.delete(oldest);
}
