import type { Family } from "../../api/address.ts";
import { ANNOTATION_CLUSTER_PROPERTIES, LABEL_ACTIVE } from "../../api/keys.ts";
import type { ObjectKey } from "../../api/names.ts";
import { sliceObject } from "../generators/objects.ts";
import { addressAt, nodeOf, regionOf, ZONES } from "./address-plan.ts";

/** A port as manifests write it. */
export interface PortObject {
  readonly name?: string;
  readonly protocol?: "TCP" | "UDP" | "SCTP";
  readonly port: number;
}

const CONDITIONS: Readonly<Record<string, object>> = {
  /** By saying nothing. */
  ready: {},
  "not-ready": { ready: false, serving: false },
  /** Shutting down, and still answering. */
  terminating: { ready: false, serving: true, terminating: true },
  /** Of a cluster that is stale: not ready, and perhaps still answering. */
  serving: { ready: false, serving: true, terminating: false },
};

/** What a slice may say beside its endpoints. */
export interface SliceOptions {
  /** The source cluster; that of the first endpoint by default, none if null. */
  readonly cluster?: string | null;
  /** The node's name; that of each pod by default, none if null. */
  readonly node?: string | null;
  /** The region label; that of the cluster by default, none if null. */
  readonly region?: string | null;
  readonly family?: Family;
  readonly active?: boolean;
  /** Properties that the cluster publishes. */
  readonly properties?: Readonly<Record<string, string>>;
  /** Tells slices of one import and cluster apart. */
  readonly name?: string;
  readonly ports?: readonly PortObject[];
}

/** The ports of servers by default. */
export const TARGETS: readonly PortObject[] = [{ name: "http", protocol: "TCP", port: 8080 }];

/**
 * A slice of the import `key`: each endpoint with the address, node and zone that the plan gives it. `endpoints`: pods of the
 * plan, each with its condition unless it is ready, such as `c1/n1/a c1/n1/b:not-ready`.
 */
export function slice(key: ObjectKey, endpoints: string, options: SliceOptions = {}): object {
  const { family = "IPv4", active = true, ports = TARGETS } = options;
  const first = nodeOf(endpoints).cluster;
  const cluster = options.cluster === undefined ? first : options.cluster;
  const region = options.region === undefined ? regionOf(cluster ?? "") : options.region;
  const name =
    options.name ?? `${key.split("/")[1]}-${cluster ?? "unknown"}-${family.toLowerCase()}`;
  const objects = endpoints
    .split(" ")
    .filter(Boolean)
    .map((word) => {
      const [pod = "", condition = "ready"] = word.split(":");
      const node = nodeOf(pod);
      return {
        addresses: [addressAt(pod, family)],
        conditions: CONDITIONS[condition],
        nodeName: options.node === undefined ? node.name : (options.node ?? undefined),
        zone: ZONES[`${node.cluster}/${node.name}`],
      };
    });
  const origin = { ...(cluster && { cluster }), ...(region && { region }) };
  const { properties } = options;
  return withMore(
    sliceObject(name, key, origin, ports, objects),
    active ? {} : { [LABEL_ACTIVE]: "false" },
    properties ? { [ANNOTATION_CLUSTER_PROPERTIES]: JSON.stringify(properties) } : {},
  );
}

/** Slices of these endpoints, one for each cluster. */
export function slices(
  key: ObjectKey,
  endpoints: string,
  optionsOf: (cluster: string) => SliceOptions = () => ({}),
): object[] {
  const words = Object.groupBy(endpoints.split(" "), (word) => nodeOf(word).cluster);
  return Object.entries(words).map(([cluster, some = []]) =>
    slice(key, some.join(" "), optionsOf(cluster)),
  );
}

function withMore(
  object: object,
  more: Readonly<Record<string, string>>,
  annotations: Readonly<Record<string, string>>,
): object {
  const { metadata } = object as { metadata: { labels: Record<string, string> } };
  const labels = { ...metadata.labels, ...more };
  return { ...object, metadata: { ...metadata, labels, annotations } };
}
