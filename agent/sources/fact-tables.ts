import type { IpAddressFact } from "../../api/parse/parse-ip-address.ts";
import type { ImportFact, NodeObjectFact, PropertyFact, SliceFact } from "../model/facts.ts";
import { ObjectTable } from "./object-table.ts";
import type { SourceEvents } from "./source.ts";

/** A table for each resource, as the API calls it. */
export interface FactTables {
  readonly serviceimports: ObjectTable<ImportFact>;
  readonly endpointslices: ObjectTable<SliceFact>;
  readonly nodes: ObjectTable<NodeObjectFact>;
  readonly clusterproperties: ObjectTable<PropertyFact>;
  readonly ipaddresses: ObjectTable<IpAddressFact>;
}

/** Tables that report their facts to `events`. */
export function factTables(events: SourceEvents): FactTables {
  const problems: SourceEvents["problems"] = (object, list) => events.problems(object, list);
  const reportProperties = (at: number): void => {
    const all = [...clusterproperties.facts()].map(({ name, value }) => [name, value] as const);
    events.nodeObserved({ properties: new Map(all) }, at);
  };
  const clusterproperties = new ObjectTable<PropertyFact>({
    changed: (_fact, at) => reportProperties(at),
    removed: (_fact, at) => reportProperties(at),
    problems,
  });
  return {
    serviceimports: new ObjectTable({
      changed: (fact, at) => events.importChanged(fact, at),
      removed: ({ key }, at) => events.importRemoved(key, at),
      problems,
    }),
    endpointslices: new ObjectTable({
      changed: (fact, at) => events.sliceChanged(fact, at),
      removed: ({ key }, at) => events.sliceRemoved(key, at),
      problems,
    }),
    nodes: new ObjectTable({
      changed: (object, at) => events.nodeObserved({ object }, at),
      removed: (_fact, at) => events.nodeObserved({ object: undefined }, at),
      problems,
    }),
    clusterproperties,
    ipaddresses: new ObjectTable({
      changed: ({ address, holder }, at) => events.vipHeld(address, holder, at),
      removed: ({ address }, at) => events.vipHeld(address, undefined, at),
      problems,
    }),
  };
}
