import type { Cidr } from "../../api/cidr.ts";
import { byCount, counted } from "../../api/count.ts";
import { LABEL_SERVICE_SLICE } from "../../api/keys.ts";
import { field, fieldAt, listOf, textField } from "../../api/parse/fields.ts";
import { dnsFault } from "./dns.ts";
import type { DnsWay } from "./dns-server.ts";
import type { RegistryMode } from "./manifests.ts";
import type { HubFacts, Member } from "./members.ts";
import { isInside, type OwnedRange, outsideOf, overlapsAmong, rangesIn } from "./ranges.ts";

/** What stands in the way of a join (`faults`), and what a user should know (`warnings`), in sentences. */
export interface Findings {
  readonly faults: readonly string[];
  readonly warnings: readonly string[];
}

/** What is to become of the members. */
export interface Clusterset {
  readonly id: string;
  readonly mode: RegistryMode;
  readonly members: readonly Member[];
  readonly hub: HubFacts | undefined;
  readonly clustersetCidrs: readonly Cidr[];
  /** False: the manifests are applied by others. */
  readonly manifests: boolean;
  /** What serves the names; absent: chosen for each cluster. */
  readonly dns?: DnsWay | undefined;
}

/** The manifests have fields of Kubernetes 1.27 (`unhealthyPodEvictionPolicy`); the programs need 1.21. */
const OLDEST = { manifests: 27, programs: 21 } as const;

/** Checks members before anything is written. PURE. */
export function findingsOf(set: Clusterset): Findings {
  const { members } = set;
  return {
    faults: [
      ...members.flatMap((member) => faultsOf(member, set)),
      ...sameClusters(set),
      ...overlapsAmong(rangesAmong(set)),
    ],
    warnings: [...members.flatMap(uncovered), ...strangers(set)],
  };
}

function faultsOf({ context, facts }: Member, { id, mode, manifests, dns }: Clusterset): string[] {
  const oldest = manifests ? OLDEST.manifests : OLDEST.programs;
  const { minor, clusterSet } = facts;
  const noDns = dnsFault(context, facts.dns, dns);
  return [
    ...(noDns === undefined ? [] : [noDns]),
    ...(minor < oldest ? [`${context}: Kubernetes 1.${minor} is older than 1.${oldest}.`] : []),
    ...(clusterSet !== undefined && clusterSet !== id
      ? [`${context}: it is a member of clusterset ${clusterSet}, not ${id}. Let it leave first.`]
      : []),
    ...(facts.mode !== undefined && facts.mode !== mode
      ? [`${context}: its controller uses a ${facts.mode}. A clusterset uses a mesh or a hub.`]
      : []),
  ];
}

/** Two contexts of one cluster, a hub that is a member, and IDs that two clusters have, in sentences. PURE. */
export function sameClusters({ members, hub }: Pick<Clusterset, "members" | "hub">): string[] {
  return members.flatMap((member, i) => {
    const twin = members.slice(i + 1).find(({ facts }) => facts.uid === member.facts.uid);
    const namesake = members
      .slice(i + 1)
      .find(({ id, facts }) => id === member.id && facts.uid !== member.facts.uid);
    return [
      ...(twin === undefined
        ? []
        : [`${member.context} and ${twin.context} are contexts of the same cluster.`]),
      ...(namesake === undefined
        ? []
        : [`${member.context} and ${namesake.context} have the same ID, ${member.id}.`]),
      ...(hub?.uid === member.facts.uid
        ? [
            `${hub.context}: the hub is the API server of ${member.context}, whose controller could write in all registries.`,
          ]
        : []),
    ];
  });
}

function rangesAmong({ members, clustersetCidrs }: Clusterset): OwnedRange[] {
  const pods = members.flatMap(({ id, endpointCidrs }) =>
    owned(`pods of cluster ${id}`, rangesIn(endpointCidrs) ?? []),
  );
  const vips = owned("the ClusterSet CIDR", clustersetCidrs);
  // A cluster's Services concern itself, and its VIPs: other clusters may have the same range.
  return [...pods, ...vips];
}

/** Ranges of Services that overlap the ClusterSet CIDR, as sentences: each cluster's by itself. PURE. */
export function serviceOverlaps({ members, clustersetCidrs }: Clusterset): string[] {
  return members.flatMap(({ id, facts }) =>
    overlapsAmong([
      ...owned(`Services of cluster ${id}`, facts.serviceCidrs),
      ...owned("the ClusterSet CIDR", clustersetCidrs),
    ]),
  );
}

function owned(owner: string, ranges: readonly Cidr[]): OwnedRange[] {
  return ranges.map((range) => ({ owner, range }));
}

/** Endpoints of these Nodes would be refused as `outside-endpoint-cidrs`. */
function uncovered({ context, endpointCidrs, facts }: Member): string[] {
  const declared = rangesIn(endpointCidrs) ?? [];
  const outside = facts.podCidrs.filter((one) => !declared.some((range) => isInside(one, range)));
  const [first] = outside;
  if (first === undefined) return [];
  return [
    `${context}: podCIDRs of Nodes are outside ${endpointCidrs}, such as ${first.text}: other clusters will reject endpoints there. Give --endpoint-cidrs ${context}=RANGES.`,
  ];
}

/** Peers of members that are not among the contexts: clusters that join now and these do not know each other. */
function strangers({ members }: Clusterset): string[] {
  const ids = new Set(members.map(({ id }) => id));
  return members.flatMap(({ context, facts: { peers } }) =>
    peers
      .filter(({ cluster }) => !ids.has(cluster))
      .map(
        ({ cluster }) =>
          `${context} has the peer ${cluster}, which is not among the contexts: name its context, too, so that it and new members know each other.`,
      ),
  );
}

/** A sentence about the endpoints of exported Services that other clusters will reject, because the ranges of a member do not contain them; undefined if there are none. PURE. */
export function rejectedEndpoints(
  { context, endpointCidrs }: Pick<Member, "context" | "endpointCidrs">,
  exports: readonly unknown[],
  slices: readonly unknown[],
): string | undefined {
  const exported = new Set(exports.map((one) => nameIn(one, textField(metadataOf(one), "name"))));
  const services = new Map<string, Set<string>>();
  for (const slice of slices) {
    const label = fieldAt(metadataOf(slice), "labels", LABEL_SERVICE_SLICE);
    const service = nameIn(slice, typeof label === "string" ? label : undefined);
    if (service === undefined || !exported.has(service)) continue;
    const addresses = listOf(field(slice, "endpoints")).flatMap((one) =>
      listOf(field(one, "addresses")).slice(0, 1).map(String),
    );
    const outside = outsideOf(endpointCidrs, addresses);
    if (outside.length > 0)
      services.set(service, new Set([...(services.get(service) ?? []), ...outside]));
  }
  const [first] = [...services].sort(([a], [b]) => (a < b ? -1 : 1));
  if (first === undefined) return undefined;
  const count = [...services.values()].reduce((sum, { size }) => sum + size, 0);
  const [example = ""] = [...first[1]].sort();
  return `${context}: ${counted(services.size, "exported Service")} ${byCount(services.size, "has", "have")} ${counted(count, "endpoint")} outside ${endpointCidrs}, such as ${example} of ${first[0]}: other clusters will reject ${byCount(count, "it", "them")}. Pods with hostNetwork have addresses of Nodes (docs/guides/install.md). Give --endpoint-cidrs ${context}=RANGES.`;
}

const metadataOf = (object: unknown): unknown => field(object, "metadata");

function nameIn(object: unknown, name: string | undefined): string | undefined {
  const namespace = textField(metadataOf(object), "namespace");
  return namespace === undefined || name === undefined ? undefined : `${namespace}/${name}`;
}
