import type { IpAddressFact } from "../../api/parse/parse-ip-address.ts";
import { type Limit, memorySize } from "../../api/quota.ts";
import { StoreQuota } from "../../api/store-quota.ts";
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

/** Bytes of ServiceImports, which namespaces share: about 100,000 of a few ports each. */
const MOST_IMPORT_BYTES = 67_108_864;
/** Problems of one kind of object, which namespaces share. */
const MOST_PROBLEMS = 10_000;

/** What the objects of one namespace may take. */
export interface FactLimits {
  /** Maximum bytes of ServiceImports. */
  readonly mostImportBytes?: number;
  readonly mostProblems?: number;
  /** There is room for objects that were left out: this resource must be listed again. */
  readonly room: (resource: "serviceimports" | "endpointslices") => void;
}

/** Tables that report their facts to `events`. `limits`: absent for a source that nobody else writes. */
export function factTables(events: SourceEvents, limits?: FactLimits): FactTables {
  const problems: SourceEvents["problems"] = (object, list) => events.problems(object, list);
  const reportProperties = (at: number): void => {
    const all = [...clusterproperties.facts()].map(({ name, value }) => [name, value] as const);
    events.nodeObserved({ properties: new Map(all) }, at);
  };
  const quota = <Fact>(
    resource: "serviceimports" | "endpointslices",
    kind: string,
    of: readonly Limit<Fact>[],
  ) =>
    limits &&
    new StoreQuota<Fact>({
      ...{ kind, limits: of, mostProblems: limits.mostProblems ?? MOST_PROBLEMS },
      ownerOf: (key) => key.slice(0, key.indexOf("/")),
      events: { problems, room: () => limits.room(resource) },
    });
  const imports = quota<ImportFact>("serviceimports", "ServiceImports", [
    {
      reason: "too-much-memory",
      most: limits?.mostImportBytes ?? MOST_IMPORT_BYTES,
      weigh: memorySize,
    },
  ]);
  const slices = quota<SliceFact>("endpointslices", "EndpointSlices", []);
  const clusterproperties = new ObjectTable<PropertyFact>({
    changed: (_fact, at) => reportProperties(at),
    removed: (_fact, at) => reportProperties(at),
    problems,
  });
  return {
    serviceimports: new ObjectTable(
      {
        changed: (fact, at) => events.importChanged(fact, at),
        removed: ({ key }, at) => events.importRemoved(key, at),
        problems,
      },
      imports && { quota: imports, sinceOf: ({ created }) => created },
    ),
    // A SliceQuota limits their endpoints.
    endpointslices: new ObjectTable(
      {
        changed: (fact, at) => events.sliceChanged(fact, at),
        removed: ({ key }, at) => events.sliceRemoved(key, at),
        problems,
      },
      slices && { quota: slices, sinceOf: () => 0 },
    ),
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
