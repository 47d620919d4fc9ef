import type { Cidr } from "../../api/cidr.ts";
import { LABEL_PEER } from "../../api/keys.ts";
import { isClusterId, isSubdomainName, type ObjectKey } from "../../api/names.ts";
import type { Complaints } from "../../api/parse/complaints.ts";
import { fieldAt, isUnset } from "../../api/parse/fields.ts";
import { parseObjectName } from "../../api/parse/object-name.ts";
import type { Parsed } from "../../api/parse/parsed.ts";
import { parseEndpointCidrs } from "../model/parse-endpoint-cidrs.ts";

/** How to reach a peer, and where its endpoints lie: a Secret of our namespace. */
export interface PeerFact {
  /** The Secret. */
  readonly key: ObjectKey;
  /** Id of the cluster that the operator says it is. */
  readonly cluster: string;
  /** Text of a kubeconfig. SECRET: no log, page or problem shows any of it. */
  readonly kubeconfig: string;
  /** Ranges that its endpoints lie in; empty: nothing is declared. */
  readonly endpointCidrs: readonly Cidr[];
}

/** Key of `data` that holds the kubeconfig. */
const KUBECONFIG = "kubeconfig";
/** What problems show in the place of what a Secret holds. */
const HIDDEN = "(not shown)";

/**
 * Reads a Secret with `LABEL_PEER`. One that is wrong in any part gives no fact, and the peer stays as it was. A Secret
 * without the label gives neither fact nor problem.
 */
export function parsePeer(secret: unknown): Parsed<PeerFact> {
  const { complaints, key } = parseObjectName("Secret", secret, isSubdomainName);
  const label = fieldAt(secret, "metadata", "labels", LABEL_PEER);
  if (isUnset(label)) return { object: complaints.object, problems: [], ...(key && { key }) };
  const result = { object: complaints.object, problems: complaints.problems };
  if (key === undefined) return result;
  const cluster = parseCluster(label, complaints);
  const kubeconfig = parseKubeconfig(fieldAt(secret, "data", KUBECONFIG), complaints);
  const endpointCidrs = parseEndpointCidrs(secret, complaints);
  if (cluster === undefined || kubeconfig === undefined || endpointCidrs === undefined) {
    return { ...result, key };
  }
  return { ...result, key, fact: { key, cluster, kubeconfig, endpointCidrs } };
}

/** Peers by cluster id, and those whose cluster another Secret names as well: the first by key counts. PURE. */
export function peersByCluster(facts: Iterable<PeerFact>): {
  readonly peers: ReadonlyMap<string, PeerFact>;
  readonly duplicates: readonly PeerFact[];
} {
  const peers = new Map<string, PeerFact>();
  const duplicates: PeerFact[] = [];
  for (const fact of [...facts].sort((a, b) => (a.key < b.key ? -1 : 1))) {
    if (peers.has(fact.cluster)) duplicates.push(fact);
    else peers.set(fact.cluster, fact);
  }
  return { peers, duplicates };
}

function parseCluster(label: unknown, complaints: Complaints): string | undefined {
  if (typeof label === "string" && isClusterId(label)) return label;
  return complaints.add("invalid-label", `metadata.labels[${LABEL_PEER}]`, label);
}

function parseKubeconfig(value: unknown, complaints: Complaints): string | undefined {
  const path = `data.${KUBECONFIG}`;
  if (isUnset(value)) return complaints.add("invalid-object", path, undefined);
  const text = typeof value === "string" ? textOf(value) : undefined;
  return text ?? complaints.add("invalid-object", path, HIDDEN);
}

/** The text that base64 stands for; undefined if it is none, is not UTF-8, or is empty. */
function textOf(base64: string): string | undefined {
  try {
    const bytes = Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
    const text = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
    return text.trim() === "" ? undefined : text;
  } catch {
    return undefined;
  }
}
