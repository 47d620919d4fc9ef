import type { Cidr } from "../../../api/cidr.ts";
import { Interner } from "../../../api/parse/interner.ts";
import { parseClusterProperty } from "../../model/parse-cluster-property.ts";
import { parseImport } from "../../model/parse-import.ts";
import { parseNode } from "../../model/parse-node.ts";
import { parseSlice } from "../../model/parse-slice.ts";
import type { SourceEvents } from "../source.ts";
import { ObjectTable } from "./object-table.ts";
import type { Resource } from "./queries.ts";

/** What a table is to who fills it. */
export type Filled = Pick<ObjectTable<unknown>, "changed" | "removed" | "size">;

/** A table for each resource, which tells `events` of its facts. No endpoint may lie in `clusterSetCidrs`. */
export function tablesFor(
  events: SourceEvents,
  clusterSetCidrs: readonly Cidr[],
): Readonly<Record<Resource, Filled>> {
  const interner = new Interner();
  const problems: SourceEvents["problems"] = (object, list) => events.problems(object, list);
  const tellProperties = (at: number): void => {
    const all = [...properties.facts()].map(({ name, value }) => [name, value] as const);
    events.propertiesChanged(new Map(all), at);
  };
  const properties = new ObjectTable(parseClusterProperty, {
    changed: (_fact, at) => tellProperties(at),
    removed: (_fact, at) => tellProperties(at),
    problems,
  });
  return {
    serviceimports: new ObjectTable((object) => parseImport(object, interner), {
      changed: (fact, at) => events.importChanged(fact, at),
      removed: ({ key }, at) => events.importRemoved(key, at),
      problems,
    }),
    endpointslices: new ObjectTable((object) => parseSlice(object, clusterSetCidrs, interner), {
      changed: (fact, at) => events.sliceChanged(fact, at),
      removed: ({ key }, at) => events.sliceRemoved(key, at),
      problems,
    }),
    nodes: new ObjectTable(parseNode, {
      changed: (fact, at) => events.nodeChanged(fact, at),
      removed: (_fact, at) => events.nodeChanged(undefined, at),
      problems,
    }),
    clusterproperties: properties,
  };
}
