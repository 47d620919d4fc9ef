import { ABOUT_GROUP, ABOUT_VERSIONS, MCS_GROUP, MCS_VERSIONS } from "../../api/keys.ts";
import type { ClusterDns, DnsWay } from "./dns-server.ts";

/** An object that is applied or deleted. */
export interface InstallObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: {
    /** Absent for cluster-scoped kinds. */
    readonly namespace?: string;
    readonly name: string;
    readonly labels?: Readonly<Record<string, string>>;
    readonly annotations?: Readonly<Record<string, string>>;
    /** Without them, the API server deletes the object. */
    readonly ownerReferences?: readonly OwnerReference[];
  };
  readonly [field: string]: unknown;
}

/** An owner in the same namespace. */
interface OwnerReference {
  readonly apiVersion: string;
  readonly kind: string;
  readonly name: string;
  readonly uid: string;
}

/**
 * One change of one cluster, as data: a command computes a list of changes from facts, and `carryOut` compares, prints, asks, writes and
 * waits (design 45). Stages run one after the other. In a stage, clusters change at the same time, each in the order of the list.
 */
export type Change = Place & (Put | HandOver | Annotate | Remove | Sweep | Names | Pause);

interface Place {
  /** The context of the cluster. */
  readonly on: string;
  readonly stage: number;
  /** What the next change of this cluster waits for. */
  readonly wait?: Wait;
  /** For the plan that is printed; absent: what the comparison finds. */
  readonly detail?: string;
}

/** Applies an object, if it differs. */
interface Put {
  readonly act: "put";
  readonly object: InstallObject;
  /** `exists`: an existing object stays. `has-token`: it is a token's Secret, and its service account has another one, after a rotation. */
  readonly unless?: "exists" | "has-token";
}

/** Gives a cluster a kubeconfig for another API server, once that has made the token. */
export interface HandOver {
  readonly act: "hand-over";
  readonly handover: Handover;
  /** The Secret with the token; absent: the one in use, else the newest. */
  readonly token?: string;
}

/** Sets or, with null, deletes annotations of an object that is as it was `seen`. */
export interface Annotate {
  readonly act: "annotate";
  readonly object: InstallObject;
  readonly annotations: Readonly<Record<string, string | null>>;
  readonly seen: { readonly uid: string; readonly resourceVersion: string };
  /** What that means, such as `drained`. */
  readonly means: string;
}

/** Deletes an object, if it exists. */
interface Remove {
  readonly act: "remove";
  readonly object: InstallObject;
}

/** Deletes what controllers wrote outside of their namespaces, as it is by then. */
interface Sweep {
  readonly act: "sweep";
}

/** Adds a block for clusterset.local to the Corefile of CoreDNS, or removes it, and restarts CoreDNS. */
interface Names {
  readonly act: "names";
  readonly verb: NamesVerb;
}

/** `add`: CoreDNS serves the zone. `forward`: it forwards the zone to Service `OWN_DNS`. */
export type NamesVerb = "add" | "forward" | "remove";

/** Changes nothing, and waits. */
interface Pause {
  readonly act: "wait";
  readonly wait: Wait;
}

/** What a change waits for in its cluster. */
export type Wait =
  | { readonly for: "rollout"; readonly workload: Workload }
  /** Pods of a deleted workload end. */
  | { readonly for: "pods-ended"; readonly workload: InstallObject }
  | { readonly for: "namespace-ended"; readonly name: string }
  /** A Secret gets its token from kube-controller-manager. */
  | { readonly for: "token"; readonly token: Token }
  /** The API server of `of` reports that this cluster uses the token. */
  | { readonly for: "token-use"; readonly of: string; readonly token: Token; readonly by: string }
  /** No EndpointSlice of a cluster that leaves is left. */
  | { readonly for: "slices-gone"; readonly cluster: string }
  /** No record is left in a cluster's registry on this hub. */
  | { readonly for: "records-gone"; readonly cluster: string }
  /** What serves the names has an address, to which the user lets the cluster's DNS server or its cache forward them. */
  | {
      readonly for: "stub-domain";
      readonly in: "server" | "cache";
      readonly dns: ClusterDns;
      readonly way: DnsWay;
    }
  /** The controller reads the registries of these clusters. */
  | { readonly for: "peers"; readonly clusters: readonly string[] };

/** A workload of ours, or CoreDNS. */
export interface Workload {
  readonly kind: "DaemonSet" | "Deployment";
  readonly namespace: string;
  readonly name: string;
}

/** A Secret with a token of a service account. */
export interface Token {
  readonly namespace: string;
  readonly account: string;
  readonly name: string;
}

/** A kubeconfig with which one cluster reads another's registry, or its hub. */
export interface Handover {
  /** The context that has the registry, the service account and its tokens. */
  readonly from: string;
  readonly namespace: string;
  readonly account: string;
  /** URL of its API server, for the reader. */
  readonly server: string;
  /** The context of the reader, the Secret that it gets, without the kubeconfig, and the key for that. */
  readonly to: string;
  readonly secret: InstallObject;
  readonly key: string;
}

/** Puts of some objects in a cluster, in order. PURE. */
export function putAll(on: string, stage: number, objects: readonly InstallObject[]): Change[] {
  return objects.map((object) => ({ on, stage, act: "put", object }));
}

/** Removals of some objects in a cluster, in order. PURE. */
export function removeAll(on: string, stage: number, objects: readonly InstallObject[]): Change[] {
  return objects.map((object) => ({ on, stage, act: "remove", object }));
}

/** The name of an object of the core group. PURE. */
export function objectOf(kind: string, name: string, namespace?: string): InstallObject {
  return {
    apiVersion: "v1",
    kind,
    metadata: { name, ...(namespace !== undefined && { namespace }) },
  };
}

/** Lower-case plurals that are not the kind and an s. */
const PLURALS: Readonly<Record<string, string>> = {
  ClusterProperty: "clusterproperties",
  IPAddress: "ipaddresses",
  NetworkPolicy: "networkpolicies",
  SecurityContextConstraints: "securitycontextconstraints",
  ValidatingAdmissionPolicy: "validatingadmissionpolicies",
};

/** Versions of CRDs that clusters serve in part; others are served as objects have them. */
const VERSIONS: Readonly<Record<string, readonly string[]>> = {
  [MCS_GROUP]: MCS_VERSIONS,
  [ABOUT_GROUP]: ABOUT_VERSIONS,
  // IPAddresses, before Kubernetes 1.33.
  "networking.k8s.io": ["v1", "v1beta1"],
};

/** The resource of an object, as `ApiResource`. PURE. */
export function resourceOf({ apiVersion, kind }: Pick<InstallObject, "apiVersion" | "kind">) {
  const [version = "", group = ""] = apiVersion.split("/").reverse();
  const resource = PLURALS[kind] ?? `${kind.toLowerCase()}s`;
  return { group, versions: VERSIONS[group] ?? [version], resource, kind };
}

/** Such as `namespace/clusterset-proxy` or `clusterset-proxy/secret/hub`. PURE. */
export function titleOf({ kind, metadata: { namespace, name } }: InstallObject): string {
  const title = `${kind.toLowerCase()}/${name}`;
  return namespace === undefined ? title : `${namespace}/${title}`;
}
