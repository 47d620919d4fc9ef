import type { ExportRecord, ServicePort } from "../model/facts.ts";
import type { MergedPort } from "./merged.ts";

/**
 * The ports of all records, oldest export first: of those of one name the oldest stays, then, of those of one
 * protocol and number (KEP-1645). No name is left twice, the empty one neither, and no number of a protocol.
 */
export function unitePorts(seniors: readonly ExportRecord[]): MergedPort[] {
  const all = seniors.flatMap(({ ports }) => ports);
  const named = firstOfEach(all, ({ name }) => name);
  const united = firstOfEach(named, ({ protocol, port }) => `${protocol} ${port}`);
  const clusters = exposing(seniors);
  return united.map((port) => ({ ...port, clusters: clusters.get(identity(port)) ?? [] }));
}

/** What makes a port of one cluster the same as another's: an endpoint of either can take its connections. */
function identity({ name, protocol, port }: ServicePort): string {
  return `${name} ${protocol} ${port}`;
}

function exposing(seniors: readonly ExportRecord[]): ReadonlyMap<string, readonly string[]> {
  const clusters = new Map<string, string[]>();
  for (const { cluster, ports } of seniors) {
    for (const port of ports.map(identity)) {
      const known = clusters.get(port);
      if (known === undefined) clusters.set(port, [cluster]);
      else known.push(cluster);
    }
  }
  return clusters;
}

function firstOfEach<T>(all: readonly T[], keyOf: (one: T) => string): T[] {
  const first = new Map<string, T>();
  for (const one of all) {
    const key = keyOf(one);
    if (!first.has(key)) first.set(key, one);
  }
  return [...first.values()];
}
