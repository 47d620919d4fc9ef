import { type Change, type NamesVerb, putAll, type Wait } from "./change.ts";
import { chooseDns, ownDns } from "./dns.ts";
import type { DnsWay } from "./dns-server.ts";
import { type HubAddress, handoversOf, identityOf, putAccount } from "./handovers.ts";
import {
  CRDS,
  DNS_RIGHTS,
  type Images,
  memberOf,
  ON_HUB,
  ownDnsObjects,
  programs,
  readerOf,
  registryOf,
} from "./manifests.ts";
import type { Member } from "./members.ts";
import { imagesAt, OWN_DNS, WORKLOADS } from "./workloads.ts";

/** What is to be joined, and how. */
export interface JoinSet {
  readonly clusterset: string;
  readonly members: readonly Member[];
  readonly hub?: HubAddress;
  /** Of flags. */
  readonly images: Images;
  /** The tag of images that members have. */
  readonly version: string;
  /** False: CRDs, agents, controllers and their permissions are applied by others. */
  readonly manifests: boolean;
  /** What serves the names; absent: chosen for each cluster. */
  readonly dns?: DnsWay | undefined;
  /** False: nothing waits for agents and controllers. */
  readonly wait: boolean;
}

/** Identities after kubeconfigs, so that controllers begin with both. CoreDNS restarts in one cluster after the other. */
const STAGE = { objects: 0, kubeconfigs: 1, identities: 2, names: 3 } as const;

/** The changes of a join: all objects, then kubeconfigs, identities and names; then it waits for the programs. PURE. */
export function joinChanges(set: JoinSet): Change[] {
  const { members, hub, clusterset, wait } = set;
  const ready = STAGE.names + members.length;
  return [
    ...(hub === undefined ? [] : hubChanges(hub.context, set)),
    ...members.flatMap((member) => memberChanges(member, set)),
    ...handoversOf(members, hub).map(
      (handover): Change => ({
        ...{ on: handover.to, stage: STAGE.kubeconfigs, act: "hand-over", handover },
      }),
    ),
    ...members.flatMap((one) => putAll(one.context, STAGE.identities, identityOf(one, clusterset))),
    ...members.flatMap((one, i) => namesChanges(one, set, STAGE.names + i)),
    ...(wait ? members.flatMap((one) => readiness(one, members, ready)) : []),
  ];
}

function memberChanges(member: Member, set: JoinSet): Change[] {
  const { members, hub, manifests } = set;
  const { context, id, server, endpointCidrs, components, facts } = member;
  // A later join without flags does not take their registry away.
  const { images } = imagesAt(set.version, facts.images, set.images);
  const put = (objects: Parameters<typeof putAll>[2]) => putAll(context, STAGE.objects, objects);
  const mode = hub === undefined ? "mesh" : "hub";
  const readers = members.filter((one) => one !== member && hub === undefined);
  return [
    ...put(manifests ? [...CRDS, ...programs(mode, images, components)] : []),
    ...put(hub === undefined ? registryOf(id, server, endpointCidrs) : []),
    ...readers.flatMap((one) => putAccount(context, STAGE.objects, readerOf(id, one.id))),
    ...put(dnsObjects(member, set)),
  ];
}

/** What serves the names of a cluster, or its permissions. */
function dnsObjects({ components, facts: { dns } }: Member, { dns: requested, images }: JoinSet) {
  switch (chooseDns(dns, requested).way) {
    case "existing":
      return DNS_RIGHTS;
    case "own":
      return ownDns(ownDnsObjects(components), dns, images.coredns);
    case "none":
      return [];
  }
}

/** The Corefile of a cluster where join may change it, and what the user has to add where it may not. */
function namesChanges({ context: on, facts: { dns } }: Member, set: JoinSet, stage: number) {
  const { way, forwards } = chooseDns(dns, set.dns);
  if (way === "none") return [];
  const pause = (wait: Wait): Change => ({ on, stage, act: "wait", wait });
  const names = (verb: NamesVerb): Change => ({ on, stage, act: "names", verb });
  const stubDomain = (place: "server" | "cache") =>
    pause({ for: "stub-domain", in: place, dns, way });
  return [
    ...(way === "own" && set.wait ? [pause({ for: "rollout", workload: OWN_DNS })] : []),
    ...(way === "existing" ? [names("add")] : []),
    ...(way === "own" ? [forwards ? names("forward") : stubDomain("server")] : []),
    // Besides kube-dns, the cache reads the stub domains of its ConfigMap.
    ...(dns.cacheAddresses === undefined || dns.kind === "kube-dns" ? [] : [stubDomain("cache")]),
  ];
}

function hubChanges(on: string, { members, manifests }: JoinSet): Change[] {
  return [
    ...putAll(on, STAGE.objects, manifests ? [...CRDS, ...ON_HUB] : []),
    ...members.flatMap(({ id, endpointCidrs }) =>
      putAccount(on, STAGE.objects, memberOf(id, endpointCidrs)),
    ),
  ];
}

/** Agents and controllers are ready, and then controllers read each other's registries from their pods. */
function readiness(
  { context: on, id }: Member,
  members: readonly Member[],
  stage: number,
): Change[] {
  const clusters = members.map((one) => one.id).filter((one) => one !== id);
  const pods = WORKLOADS.map(
    (workload): Change => ({ on, stage, act: "wait", wait: { for: "rollout", workload } }),
  );
  const reads: Change = { on, stage: stage + 1, act: "wait", wait: { for: "peers", clusters } };
  return [...pods, reads];
}
