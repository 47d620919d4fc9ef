import type { Cidr } from "../../api/cidr.ts";
import { isClusterId } from "../../api/names.ts";
import type { ClusterDns } from "./dns-server.ts";
import { BEFORE_1_27, type RegistryMode } from "./manifests.ts";
import { type FoundRanges, rangesIn, rangesText } from "./ranges.ts";

/** What flags say of clusters, by context. */
export interface MemberFlags {
  readonly id: ReadonlyMap<string, string>;
  readonly region: ReadonlyMap<string, string>;
  readonly endpointCidrs: ReadonlyMap<string, string>;
  readonly apiServer: ReadonlyMap<string, string>;
  /** In order. */
  readonly components: readonly ComponentFlag[];
}

/** A component that a flag names. */
export interface ComponentFlag {
  readonly name: string;
  /** Absent: of all clusters. */
  readonly context?: string;
}

/** In place of a component: none, although earlier joins have added some. */
export const NO_COMPONENT = "none";

/** No flag says anything. */
export const NO_FLAGS: MemberFlags = {
  id: new Map(),
  region: new Map(),
  endpointCidrs: new Map(),
  apiServer: new Map(),
  components: [],
};

/** A cluster that joins, or is a member already. */
export interface Member {
  readonly facts: ClusterFacts;
  readonly context: string;
  readonly id: string;
  readonly region?: string;
  /** Ranges of its pods, as the annotation has them, and where they were found. */
  readonly endpointCidrs: string;
  readonly rangesFrom: string;
  /** URL of its API server, for the others. */
  readonly server: string;
  /** Components of its programs. */
  readonly components: readonly string[];
}

/** What prevents that a cluster is a member, as a sentence. */
export interface MemberFault {
  readonly context: string;
  readonly about: "cluster-id" | "pod-ranges" | "region";
  readonly text: string;
}

/** The members of some clusters, or what is missing for them. PURE. */
export function membersOf(
  clusters: readonly ClusterFacts[],
  flags: MemberFlags,
  hub: HubFacts | undefined,
): { readonly members: readonly Member[]; readonly faults: readonly MemberFault[] } {
  const faults: MemberFault[] = [];
  const members: Member[] = [];
  for (const facts of clusters) {
    const { context } = facts;
    const id = idOf(facts, flags, faults);
    const declared = hub === undefined ? facts.declared?.endpointCidrs : hub.members.get(id);
    const ranges = rangesOf(facts, flags, declared);
    if (ranges === undefined) {
      const text = `The ranges of its pods are unknown: no Node has podCIDRs, and no known network plugin was found. Give --endpoint-cidrs ${context}=RANGES.`;
      faults.push({ context, about: "pod-ranges", text });
      continue;
    }
    const region = regionOf(facts, flags, faults);
    // Never by what others say of it: one of them may be compromised.
    const server = flags.apiServer.get(context) ?? facts.declared?.server ?? facts.address;
    members.push({
      ...{ facts, context, id, server, ...ranges, components: componentsOf(facts, flags) },
      ...(region !== undefined && { region }),
    });
  }
  return { members, faults };
}

/**
 * What other members of a mesh have noted of one, where it differs from what it states itself and no flag decides, in sentences. The
 * operator has to see it: one of them is wrong, or an earlier join had other flags. PURE.
 */
export function contradictions(
  member: Member,
  members: readonly Member[],
  { apiServer, endpointCidrs }: Pick<MemberFlags, "apiServer" | "endpointCidrs">,
): string[] {
  const { context, id, server } = member;
  const noted = members.flatMap(({ context: by, facts }) =>
    facts.peers.filter(({ cluster }) => cluster === id).map((peer) => ({ by, peer })),
  );
  const differing = (name: string, flag: string, own: string, of: (peer: KnownPeer) => string) =>
    noted.flatMap(({ by, peer }) =>
      of(peer) === own
        ? []
        : `${by} has ${of(peer)} as its ${name}, but ${context} itself has ${own}. Find out why, and give ${flag}.`,
    );
  return [
    ...(apiServer.has(context)
      ? []
      : differing("API server", `--api-server ${context}=URL`, sameUrl(server), (peer) =>
          sameUrl(peer.server ?? server),
        )),
    ...(endpointCidrs.has(context)
      ? []
      : differing(
          "ranges",
          `--endpoint-cidrs ${context}=RANGES`,
          sameRanges(member.endpointCidrs),
          (peer) => sameRanges(peer.endpointCidrs ?? "(none)"),
        )),
  ];
}

/** One spelling for each URL, and for each list of ranges. */
function sameUrl(text: string): string {
  return (URL.parse(text)?.href ?? text).replace(/\/$/, "");
}

function sameRanges(text: string): string {
  const ranges = rangesIn(text);
  return ranges === undefined
    ? text
    : rangesText(ranges.toSorted((a, b) => (a.text < b.text ? -1 : 1)));
}

function idOf(facts: ClusterFacts, flags: MemberFlags, faults: MemberFault[]): string {
  const { context, clusterId } = facts;
  const flag = flags.id.get(context);
  if (clusterId !== undefined && flag !== undefined && flag !== clusterId) {
    const text = `Its ID is ${clusterId}, and --id says ${flag}. A member cannot change its ID: let it leave first.`;
    faults.push({ context, about: "cluster-id", text });
  }
  const id = clusterId ?? flag ?? context;
  if (!isClusterId(id)) {
    const text = `${id} is not a cluster ID (one DNS label). Give --id ${context}=ID.`;
    faults.push({ context, about: "cluster-id", text });
  }
  return id;
}

function regionOf(
  facts: ClusterFacts,
  flags: MemberFlags,
  faults: MemberFault[],
): string | undefined {
  const { context, region, nodeRegions } = facts;
  const given = flags.region.get(context) ?? region;
  if (given === undefined && nodeRegions.length > 1) {
    const text = `Its Nodes are in regions ${nodeRegions.join(", ")}. Give --region ${context}=REGION.`;
    faults.push({ context, about: "region", text });
  }
  return given ?? nodeRegions[0];
}

/** What was added once stays until a flag concerns the cluster. */
function componentsOf({ context, components, minor }: ClusterFacts, flags: MemberFlags): string[] {
  const given = flags.components.filter((one) => (one.context ?? context) === context);
  const names = given.length > 0 ? given.map(({ name }) => name) : components;
  const chosen = [...new Set(names)].filter(
    (name) => name !== NO_COMPONENT && name !== BEFORE_1_27,
  );
  return minor < 27 ? [...chosen, BEFORE_1_27] : chosen;
}

/** What was declared once stays until a flag changes it. */
function rangesOf(
  { context, found }: ClusterFacts,
  { endpointCidrs }: MemberFlags,
  declared: string | undefined,
): Pick<Member, "endpointCidrs" | "rangesFrom"> | undefined {
  const flag = endpointCidrs.get(context);
  if (flag !== undefined) return { endpointCidrs: flag, rangesFrom: "--endpoint-cidrs" };
  if (declared !== undefined) return { endpointCidrs: declared, rangesFrom: "declared before" };
  if (found === undefined) return undefined;
  return { endpointCidrs: rangesText(found.ranges), rangesFrom: found.from };
}

/** What a cluster's Secret says of a peer. */
export interface KnownPeer {
  readonly cluster: string;
  /** Name of the Secret. */
  readonly secret: string;
  readonly server?: string;
  /** As the annotation has them. */
  readonly endpointCidrs?: string;
}

/** What join, leave, rotate and upgrade read of a cluster before they change anything. */
export interface ClusterFacts {
  readonly context: string;
  /** URL of its API server, as the kubeconfig has it. */
  readonly address: string;
  /** CA of its API server, PEM in base64, as its pods get it; absent: unknown. */
  readonly ca?: string;
  /** Minor version of its Kubernetes 1. */
  readonly minor: number;
  /** uid of its namespace kube-system: two contexts may be one cluster. */
  readonly uid: string;
  /** Its ClusterProperties. */
  readonly clusterId?: string;
  readonly clusterSet?: string;
  readonly region?: string;
  /** Regions of its Nodes' labels. */
  readonly nodeRegions: readonly string[];
  /** podCIDRs of its Nodes. */
  readonly podCidrs: readonly Cidr[];
  /** The ranges that its network is configured with, else those around its Nodes' podCIDRs. */
  readonly found?: FoundRanges;
  /** Ranges of ClusterIPs; empty before Kubernetes 1.33. */
  readonly serviceCidrs: readonly Cidr[];
  /** Of its controller, if it has one. */
  readonly mode?: RegistryMode;
  /** Images of its agent and controller, if it has them. */
  readonly images: Readonly<Record<string, string>>;
  readonly dns: ClusterDns;
  /** Components that joins have added to its programs. */
  readonly components: readonly string[];
  /** Where others reach it, and its ranges, by earlier joins: annotations of its own registry. Absent on a hub. */
  readonly declared?: { readonly server?: string; readonly endpointCidrs?: string };
  /** Peers that it has Secrets for: what it says of others, which is a source for nothing but itself. */
  readonly peers: readonly KnownPeer[];
  /** URL of its hub, if it has a Secret for one. */
  readonly hub?: string;
}

/** What is read of a hub. */
export interface HubFacts {
  readonly context: string;
  readonly address: string;
  readonly ca?: string;
  readonly uid: string;
  /** Ranges of members, as annotations have them, by cluster ID. */
  readonly members: ReadonlyMap<string, string | undefined>;
}
