import {
  ANNOTATION_CLUSTER_PROPERTIES,
  CONTROLLER_NAME,
  DISCOVERY_V1,
  LABEL_MANAGED_BY,
  LABEL_PROXY_NAME,
  LABEL_REGION,
  LABEL_SERVICE_NAME,
  LABEL_SOURCE_CLUSTER,
  PROXY_NAME,
} from "../../api/keys.ts";
import type { ObjectKey } from "../../api/names.ts";
import type { Reason } from "../../api/reasons.ts";
import { encodeContent } from "../model/encode-service.ts";
import type {
  ClusterFact,
  ClusterState,
  EndpointFact,
  ExportRecord,
  ServicePort,
  ServiceProperties,
  SliceFact,
} from "../model/facts.ts";
import { inKeyOrder, type Manifest } from "../model/manifest.ts";
import { sliceName } from "./slice-name.ts";

/** One cluster's part in a service: what it publishes, and how it is seen. */
export interface Contribution {
  readonly record: ExportRecord;
  /** Slices of the record, as they lie in the cluster's registry. */
  readonly slices: readonly SliceFact[];
  readonly state: ClusterState;
  /** Absent as long as the cluster's Lease has not been read. */
  readonly cluster?: Pick<ClusterFact, "properties" | "region">;
}

/** What slices are imported for: a merged service, or an import that stays as it is. */
export type Importing = Pick<ServiceProperties, "families" | "headless" | "ports"> & {
  readonly key: ObjectKey;
};

/** A slice that is not imported. */
export interface OmittedSlice {
  readonly cluster: string;
  /** In its cluster's registry. */
  readonly slice: ObjectKey;
  readonly reason: Extract<Reason, "family-not-merged" | "port-not-merged">;
  /** The family, or the ports, that it has and the import has not: `http/TCP`. */
  readonly has: string;
}

/** What is wanted in the service's namespace, of the clusters that were asked for. */
export interface ImportedSlices {
  readonly slices: readonly Manifest[];
  readonly omitted: readonly OmittedSlice[];
}

/**
 * The slices to be imported for a service. A slice keeps those ports alone whose name, protocol and number in its
 * cluster's Service are the import's (KEP-1645: traffic of a port goes to those that really expose it), and is left
 * out if none is left, or if the import is not of its family. Where the Service itself has no port, a headless one
 * in a headless import, its addresses are all that there is to import. A slice that lists nobody may have no ports
 * either: it is imported as it is, so that a cluster's last endpoint goes by a slice that changes, and not by one that
 * is missing, which whoever lists anew may doubt.
 *
 * Target ports, hostnames, zones, node names and conditions travel as they are, hints do not: they were computed
 * for another cluster. Endpoints of a stale cluster that were ready are said to serve without being ready: whoever
 * has better ones leaves them alone.
 */
export function importedSlices(
  service: Importing,
  contributions: readonly Contribution[],
): ImportedSlices {
  const slices: Manifest[] = [];
  const omitted: OmittedSlice[] = [];
  for (const contribution of contributions) {
    const { record } = contribution;
    const exposed = exposedPorts(service.ports, record);
    const bare = service.headless && record.ports.length === 0;
    for (const slice of contribution.slices) {
      const ports = slice.ports.filter((port) => exposed.has(joint(port)));
      const isEmpty = slice.endpoints.length === 0;
      const omit = (reason: OmittedSlice["reason"]): void => {
        // Of a slice without endpoints, nothing is lost.
        if (isEmpty) return;
        const has = reason === "family-not-merged" ? slice.family : portsText(slice.ports);
        omitted.push({ cluster: record.cluster, slice: slice.key, reason, has });
      };
      const isBare = bare || (isEmpty && slice.ports.length === 0);
      if (!service.families.includes(slice.family)) omit("family-not-merged");
      else if (ports.length === 0 && !isBare) omit("port-not-merged");
      else slices.push(manifestOf({ ...slice, ports }, service.key, contribution));
    }
  }
  return { slices, omitted };
}

/** Name and protocol of the record's ports that are the import's with the same number, too. */
function exposedPorts(ports: readonly ServicePort[], record: ExportRecord): ReadonlySet<string> {
  const numbered = (port: ServicePort) => `${joint(port)} ${port.port}`;
  const imported = new Set(ports.map(numbered));
  return new Set(record.ports.filter((port) => imported.has(numbered(port))).map(joint));
}

function portsText(ports: readonly ServicePort[]): string {
  return ports.map(({ name, protocol }) => `${name}/${protocol}`).join();
}

/** What joins a port of a Service and a port of its slices. */
function joint({ name, protocol }: ServicePort): string {
  return `${name} ${protocol}`;
}

function manifestOf(
  slice: SliceFact,
  service: ObjectKey,
  { record, state, cluster }: Contribution,
): Manifest {
  const [namespace = "", name = ""] = service.split("/");
  const { region, properties = {} } = cluster ?? {};
  return {
    apiVersion: DISCOVERY_V1,
    kind: "EndpointSlice",
    metadata: {
      name: sliceName(service, record.cluster, slice.key),
      namespace,
      labels: {
        [LABEL_SERVICE_NAME]: name,
        [LABEL_SOURCE_CLUSTER]: record.cluster,
        ...(region !== undefined && { [LABEL_REGION]: region }),
        [LABEL_MANAGED_BY]: CONTROLLER_NAME,
        [LABEL_PROXY_NAME]: PROXY_NAME,
      },
      ...(Object.keys(properties).length > 0 && {
        annotations: { [ANNOTATION_CLUSTER_PROPERTIES]: JSON.stringify(inKeyOrder(properties)) },
      }),
    },
    ...encodeContent(state === "stale" ? staleOf(slice) : slice),
  };
}

function staleOf(slice: SliceFact): SliceFact {
  const endpoints = slice.endpoints.map(
    (endpoint): EndpointFact =>
      endpoint.ready ? { ...endpoint, ready: false, serving: true } : endpoint,
  );
  return { ...slice, endpoints };
}
