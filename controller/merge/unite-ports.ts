import type { ExportRecord, ServicePort } from "../model/facts.ts";

/**
 * Merges the ports of all records, oldest export first: the first of each name, then the first of each protocol and
 * number (KEP-1645).
 */
export function unitePorts(seniors: readonly ExportRecord[]): ServicePort[] {
  const all = seniors.flatMap(({ ports }) => ports);
  const named = firstOfEach(all, ({ name }) => name);
  return firstOfEach(named, ({ protocol, port }) => `${protocol} ${port}`);
}

function firstOfEach<T>(all: readonly T[], keyOf: (one: T) => string): T[] {
  const first = new Map<string, T>();
  for (const one of all) {
    const key = keyOf(one);
    if (!first.has(key)) first.set(key, one);
  }
  return [...first.values()];
}
