import { field, fieldAt, listOf, textField } from "../../api/parse/fields.ts";
import { IP_ADDRESSES, NODES, PODS, queryOf, SERVICES } from "../../common/kubernetes/kinds.ts";
import type { Cluster } from "../clusters/cluster.ts";

/** Where each kind has its addresses. */
const PLACES = [
  [SERVICES, serviceAddresses],
  [NODES, nodeAddresses],
  [PODS, podAddresses],
] as const;

/**
 * Whose an address is that no import has: a Service, Node or pod, or what an IPAddress names. Undefined: nothing of this cluster's.
 * Rejects with an ApiFault.
 */
export async function ownerOf(cluster: Cluster, address: string): Promise<string | undefined> {
  for (const [resource, addressesOf] of PLACES) {
    const objects = await cluster.list(queryOf(resource));
    const found = objects.find((one) => addressesOf(one).includes(address));
    if (found !== undefined) return `${resource.kind} ${nameOf(found)}`;
  }
  const fieldSelector = `metadata.name=${address}`;
  const [ip] = await cluster.list(queryOf(IP_ADDRESSES, { optional: true, fieldSelector }));
  const parent = fieldAt(ip, "spec", "parentRef");
  if (ip === undefined) return undefined;
  const [resource = "?", namespace, name = "?"] = ["resource", "namespace", "name"].map((one) =>
    textField(parent, one),
  );
  return `${resource} ${namespace === undefined ? name : `${namespace}/${name}`}, by its IPAddress`;
}

function serviceAddresses(service: unknown): unknown[] {
  const ingress = listOf(fieldAt(service, "status", "loadBalancer", "ingress"));
  return [
    ...listOf(fieldAt(service, "spec", "clusterIPs")),
    ...listOf(fieldAt(service, "spec", "externalIPs")),
    ...ingress.map((one) => field(one, "ip")),
  ];
}

function nodeAddresses(node: unknown): unknown[] {
  return listOf(fieldAt(node, "status", "addresses")).map((one) => field(one, "address"));
}

function podAddresses(pod: unknown): unknown[] {
  // Such a pod has the addresses of its node.
  if (fieldAt(pod, "spec", "hostNetwork") === true) return [];
  return listOf(fieldAt(pod, "status", "podIPs")).map((one) => field(one, "ip"));
}

function nameOf(object: unknown): string {
  const metadata = field(object, "metadata");
  return [textField(metadata, "namespace"), textField(metadata, "name")].filter(Boolean).join("/");
}
