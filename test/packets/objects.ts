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

/** A pod of the address plan as an endpoint, in a condition. */
export interface PlanEndpoint {
  readonly pod: string;
  readonly conditions: Readonly<Record<string, boolean>>;
}

const inCondition =
  (conditions: Readonly<Record<string, boolean>>) =>
  (pod: string): PlanEndpoint => ({ pod, conditions });

/** Ready, by saying nothing. */
export const ready = inCondition({});
/** Neither ready nor serving. */
export const notReady = inCondition({ ready: false, serving: false });
/** Shutting down, and still answering. */
export const terminating = inCondition({ ready: false, serving: true, terminating: true });
/** Of a cluster that is stale: not ready, and perhaps still answering. */
export const serving = inCondition({ ready: false, serving: true, terminating: false });

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

/** A slice of the import `key`: each endpoint with the address, node and zone that the plan gives it. */
export function slice(
  key: ObjectKey,
  endpoints: readonly PlanEndpoint[],
  options: SliceOptions = {},
): object {
  const { family = "IPv4", active = true, ports = TARGETS } = options;
  const first = nodeOf(endpoints[0]?.pod ?? "").cluster;
  const cluster = options.cluster === undefined ? first : options.cluster;
  const region = options.region === undefined ? regionOf(cluster ?? "") : options.region;
  const name =
    options.name ?? `${key.split("/")[1]}-${cluster ?? "unknown"}-${family.toLowerCase()}`;
  const objects = endpoints.map(({ pod, conditions }) => {
    const node = nodeOf(pod);
    return {
      addresses: [addressAt(pod, family)],
      conditions,
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

function withMore(
  object: object,
  more: Readonly<Record<string, string>>,
  annotations: Readonly<Record<string, string>>,
): object {
  const { metadata } = object as { metadata: { labels: Record<string, string> } };
  const labels = { ...metadata.labels, ...more };
  return { ...object, metadata: { ...metadata, labels, annotations } };
}
