import { registryNamespace } from "../../controller/registry/names.ts";
import {
  type Change,
  type InstallObject,
  objectOf,
  putAll,
  removeAll,
  type Wait,
} from "./change.ts";
import { HUB_SECRET, MEMBERS_NAMESPACE } from "./handovers.ts";
import { cleanup, DNS_OWN, DNS_RIGHTS, programs, type RegistryMode } from "./manifests.ts";
import type { ClusterFacts } from "./members.ts";
import { INSTALL_NAMESPACE, WORKLOADS } from "./workloads.ts";

/** A cluster that leaves, and all that knows it. */
export interface Departure {
  readonly context: string;
  readonly id: string;
  readonly facts: ClusterFacts;
  /** The context of its hub. */
  readonly hub?: string;
  /** Other members of a mesh. */
  readonly others: readonly Pick<ClusterFacts, "context" | "clusterId" | "peers">[];
  readonly exports: readonly InstallObject[];
  /** Service accounts by whose tokens others read its registry. */
  readonly readers: readonly InstallObject[];
  /** CRDs that are deleted. */
  readonly crds: readonly InstallObject[];
}

/** Flags of a departure. */
export interface LeaveOptions {
  /** False: does not wait until others no longer use its endpoints. */
  readonly wait: boolean;
  readonly keepPrograms: boolean;
  /** Cleans the nodes; absent: the image of its agents. */
  readonly agentImage?: string;
}

const STAGE = { exports: 0, unused: 1, traces: 2, own: 3, programs: 4, ended: 5 } as const;

/** Kinds that other implementations of the API write, too. */
const SHARED_KINDS = ["ServiceExport", "ClusterProperty"];

/** True if the deletion of an object of this kind shows that the cluster is a member. PURE. */
export function isOurs(kind: string): boolean {
  return !SHARED_KINDS.includes(kind);
}

/** The changes by which a cluster leaves, in the order that interrupts no connection. PURE. */
export function leaveChanges(departure: Departure, options: LeaveOptions): Change[] {
  const { context: on, id, hub, others, exports } = departure;
  const waits: readonly (readonly [string, Wait])[] = [
    ...others.map((one) => [one.context, { for: "slices-gone", cluster: id }] as const),
    ...(hub === undefined ? [] : [[hub, { for: "records-gone", cluster: id }] as const]),
  ];
  const changes: readonly Change[] = [
    ...removeAll(on, STAGE.exports, exports),
    ...(options.wait ? waits : []).map(
      ([where, wait]): Change => ({ on: where, stage: STAGE.unused, act: "wait", wait }),
    ),
    ...traces(departure),
    ...ownTraces(departure, options),
    ...(options.keepPrograms ? [] : programChanges(departure, options)),
  ];
  // Kubernetes looks at a deleted namespace after 5 s and, if it is not empty then, 5 to 16 s later: so for all of them at once, at the end.
  const ends = changes.flatMap((one): Change[] =>
    one.act === "remove" && one.object.kind === "Namespace"
      ? [pause(one.on, STAGE.ended, { for: "namespace-ended", name: one.object.metadata.name })]
      : [],
  );
  return [...changes, ...ends];
}

/** What is true once a stage has ended, in sentences. PURE. */
export function leaveMilestones(
  { context, id }: Departure,
  { wait, keepPrograms }: LeaveOptions,
): ReadonlyMap<number, string> {
  return new Map([
    ...(wait ? [[STAGE.unused, `no other cluster uses endpoints of ${id}`] as const] : []),
    ...(keepPrograms
      ? []
      : [[STAGE.programs, `${context}: the agents' rules are removed from all nodes`] as const]),
  ]);
}

/** All by which others know the cluster. */
function traces({ id, hub, others }: Departure): Change[] {
  const remove = (where: string, objects: readonly InstallObject[]) =>
    removeAll(where, STAGE.traces, objects);
  return [
    ...others.flatMap(({ context, clusterId, peers }) => {
      if (clusterId === undefined) return [];
      const secrets = peers.filter(({ cluster }) => cluster === id).map(({ secret }) => secret);
      return remove(context, tracesInPeer(clusterId, id, secrets));
    }),
    ...(hub === undefined
      ? []
      : remove(hub, [
          objectOf("ServiceAccount", id, MEMBERS_NAMESPACE),
          objectOf("Namespace", registryNamespace(id)),
        ])),
  ];
}

/** By what the cluster knows the others. After the traces in them: by these objects, a repeated run finds the others. */
function ownTraces(
  { context: on, facts, readers }: Departure,
  { keepPrograms }: LeaveOptions,
): Change[] {
  const secrets = [
    ...facts.peers.map(({ secret }) => secret),
    ...(facts.hub === undefined ? [] : [HUB_SECRET]),
  ];
  return removeAll(on, STAGE.own, [
    ...secrets.map((name) => objectOf("Secret", name, INSTALL_NAMESPACE)),
    // Without programs, the registry goes with all that is in it.
    ...(keepPrograms ? readers : []),
  ]);
}

/** By what another member of a mesh knows the cluster that leaves. `secrets`: names of its Secrets there. */
function tracesInPeer(peer: string, leaving: string, secrets: readonly string[]): InstallObject[] {
  return [
    ...secrets.map((name) => objectOf("Secret", name, INSTALL_NAMESPACE)),
    // kube-controller-manager deletes its tokens.
    objectOf("ServiceAccount", leaving, registryNamespace(peer)),
  ];
}

/** Deletes programs and all that they and join have written, and cleans the nodes. */
function programChanges(departure: Departure, { agentImage }: LeaveOptions): Change[] {
  const { context: on, id, hub, facts, crds } = departure;
  const stage = STAGE.programs;
  const mode = hub === undefined ? "mesh" : "hub";
  const own = programs(mode, {}, facts.components);
  const workloads = own.filter(({ kind, metadata }) =>
    WORKLOADS.some((one) => one.kind === kind && one.name === metadata.name),
  );
  const image = agentImage ?? facts.images["clusterset-agent"];
  const images = image === undefined ? {} : { "clusterset-agent": image };
  const cleaners = cleanup(images, facts.components);
  return [
    { on, stage, act: "names", verb: "remove" },
    // First, so that nothing writes any more.
    ...removeAll(on, stage, workloads),
    ...workloads.map((workload) => pause(on, stage, { for: "pods-ended", workload })),
    ...removeAll(on, stage, programObjects(mode, id, own)),
    // Controllers wrote until now.
    { on, stage, act: "sweep" },
    ...removeAll(on, stage, crds),
    ...putAll(on, stage, cleaners).map((one) => ({
      ...one,
      detail: "for a time: removes the agents' rules from nodes",
    })),
    pause(on, stage, { for: "rollout", workload: CLEANUP }),
    // Its pods end before Kubernetes looks at their namespace.
    ...removeAll(on, stage, cleaners.toReversed()),
  ];
}

/** The DaemonSet of deploy/cleanup. */
const CLEANUP = {
  kind: "DaemonSet",
  namespace: "clusterset-cleanup",
  name: "clusterset-cleanup",
} as const;

/** What else a cluster that leaves loses, in this order. */
function programObjects(
  mode: RegistryMode,
  id: string,
  own: readonly InstallObject[],
): InstallObject[] {
  const namespaces = own.filter(({ kind }) => kind === "Namespace");
  // A namespace takes along what is in it. Permissions last: programs end in good order.
  const others = [...DNS_OWN, ...own].filter(
    ({ kind, metadata }) => kind !== "Namespace" && metadata.namespace !== INSTALL_NAMESPACE,
  );
  const registry = mode === "mesh" ? [objectOf("Namespace", registryNamespace(id))] : [];
  return [...DNS_RIGHTS, ...namespaces, ...registry, ...others];
}

function pause(on: string, stage: number, wait: Wait): Change {
  return { on, stage, act: "wait", wait };
}
