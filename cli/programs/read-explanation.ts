import type { HeldPort } from "../../agent/backends/backend.ts";
import type { ImportPlan } from "../../agent/plan/import-plan.ts";
import { LABEL_SERVICE_SLICE } from "../../api/keys.ts";
import { namesOf, type ObjectKey } from "../../api/names.ts";
import { field, fieldAt, listOf, textField } from "../../api/parse/fields.ts";
import { ApiFault } from "../../common/kubernetes/api-fault.ts";
import {
  ENDPOINT_SLICES,
  IP_ADDRESSES,
  NAMESPACES,
  NODES,
  PODS,
  queryOf,
  SERVICE_EXPORTS,
  SERVICES,
} from "../../common/kubernetes/kinds.ts";
import type { Cluster } from "../clusters/cluster.ts";
import { jsonOf } from "../view/agent-status.ts";
import { failoverRequest } from "../view/cluster-ip.ts";
import type { AgentPages } from "../view/explanation.ts";
import type { ClusterIpReading, Unread, UnreadPart } from "../view/readings.ts";
import { conditionOf } from "../view/status.ts";
import { lookUp } from "./cluster-dns.ts";
import {
  agentPage,
  debugPage,
  isMissingPage,
  type ProgramPod,
  pageOf,
  podsOf,
  unreadOf,
} from "./pods.ts";

/** The domain of names of ServiceImports (KEP-1645). */
const DOMAIN = "svc.clusterset.local";

/** The plan of a node's agent, and what its kernel holds. Rejects with the reason of the signal only. */
export async function agentPages(
  cluster: Cluster,
  pod: ProgramPod | undefined,
  key: ObjectKey,
  signal: AbortSignal,
): Promise<AgentPages> {
  if (pod === undefined) {
    const none: Unread = { reason: "absent", detail: "the node has no agent" };
    return { plan: none, held: none };
  }
  const page = async <Value>(path: string, check: (value: unknown) => value is Value) => {
    try {
      const text = await pageOf(cluster, pod, path);
      const value = jsonOf(text);
      if (check(value)) return value;
      if (isMissingPage(text)) {
        return { reason: "not-served", detail: `an agent of this release has no ${path}` } as const;
      }
      // A page of another release, or an error in words.
      return { reason: "garbage", detail: `${path}: ${text.slice(0, 200).trim()}` } as const;
    } catch (thrown) {
      signal.throwIfAborted();
      return unreadOf(thrown);
    }
  };
  const plan = await page(`/plan/${key}`, isPlan);
  const held = await page(`/kernel/${key}`, isHeld);
  return { plan, held: "held" in held ? held.held : held };
}

/**
 * What the node lacks, as sentences: what failure detection does not see (clusters that its probes do not reach, its uplink, or evidence that it
 * does not get), and failing preflight checks. An agent of 0.2.0 has the plan and not this page, which is then said. None if it does not answer: then the plan is not
 * known either, and says why. Rejects with the reason of the signal only.
 */
export async function nodeRemarks(
  cluster: Cluster,
  pod: ProgramPod | undefined,
  signal: AbortSignal,
): Promise<string[]> {
  if (pod === undefined) return [];
  try {
    const { checks } = await agentPage(cluster, pod);
    const remarkable = checks.filter(({ name, state, reason }) =>
      name === "health"
        ? state !== "ok" && reason !== "unanswering"
        : name.startsWith("preflight-") && state === "failing",
    );
    return remarkable.map(({ reason, detail }) =>
      [`Agent of ${pod.node}`, reason ?? [], detail ?? []].flat().join(": "),
    );
  } catch (thrown) {
    signal.throwIfAborted();
    const { reason, detail } = unreadOf(thrown);
    if (reason !== "not-served") return [];
    return [`Agent of ${pod.node}: checks not known, ${reason}, ${detail}`];
  }
}

/** Conditions of an import's exports that report a problem, in all contexts, as sentences. */
export async function exportRemarks(
  clusters: readonly Cluster[],
  key: ObjectKey,
  signal: AbortSignal,
): Promise<string[]> {
  const found = await Promise.all(
    clusters.map(async (cluster) => {
      try {
        const one = await cluster.objects.get(SERVICE_EXPORTS, namesOf(key));
        return one === undefined ? [] : problemsOf(cluster.context, one.object);
      } catch (thrown) {
        signal.throwIfAborted();
        const { reason, detail } = unreadOf(thrown);
        return [`ServiceExport in ${cluster.context}: not known, ${reason}, ${detail}`];
      }
    }),
  );
  return found.flat();
}

/** Conditions that report a problem, and what is not published of an export that is ready. */
function problemsOf(context: string, object: unknown): string[] {
  const types = ["Valid", "Ready", "Conflict"];
  const about = `ServiceExport in ${context}`;
  if (types.every((type) => conditionOf(object, type) === undefined)) {
    return [`${about}: Pending, it has no condition: no controller has processed it`];
  }
  return types.flatMap((type) => {
    const found = conditionOf(object, type);
    const isGood = found === undefined || (found.status === "True") === (type !== "Conflict");
    const isWhole = found === undefined || !/ Left out: /.test(found.message);
    return isGood && isWhole ? [] : [`${about}: ${found?.reason}, ${found?.message}`];
  });
}

/** Where the import's name points, by the cluster's DNS. */
export async function dnsOf(
  cluster: Cluster,
  key: ObjectKey,
  vips: readonly string[],
  signal: AbortSignal,
): Promise<string> {
  const { namespace, name } = namesOf(key);
  const full = `${name}.${namespace}.${DOMAIN}`;
  const types = (["A", "AAAA"] as const).filter((type) =>
    vips.some((vip) => vip.includes(":") === (type === "AAAA")),
  );
  if (types.length === 0) return `${full}, which resolves to the endpoints`;
  try {
    const { addresses, codes } = await lookUp(cluster, full, types, signal);
    const same = addresses.join() === [...vips].sort().join();
    const text = addresses.length === 0 ? codes.join(", ") || "no address" : addresses.join(", ");
    return `${full} is ${text}${same ? "" : `: not as the import, ${vips.join(", ")}`}`;
  } catch (thrown) {
    signal.throwIfAborted();
    const { reason, detail } = unreadOf(thrown);
    return `${full}, by the import; CoreDNS was not asked: ${reason}, ${detail}`;
  }
}

function isPlan(value: unknown): value is ImportPlan {
  return ["vips", "services", "excluded"].every((name) => Array.isArray(field(value, name)));
}

function isHeld(value: unknown): value is { held: HeldPort[] } {
  return Array.isArray(field(value, "held"));
}

/** Reads what explains the ClusterIP of a Service. What cannot be read is in `unread`; rejects with the reason of the signal only. */
export async function readClusterIp(
  cluster: Cluster,
  key: ObjectKey,
  signal: AbortSignal,
): Promise<ClusterIpReading> {
  const { namespace, name } = namesOf(key);
  const unread: UnreadPart[] = [];
  const attempt = async <Value>(what: string, read: Promise<Value>): Promise<Value | undefined> => {
    try {
      return await read;
    } catch (thrown) {
      signal.throwIfAborted();
      unread.push({ what, ...unreadOf(thrown) });
      return undefined;
    }
  };
  const labelSelector = `${LABEL_SERVICE_SLICE}=${name}`;
  const [service, slices = []] = await Promise.all([
    attempt("Service", cluster.objects.get(SERVICES, { namespace, name })),
    attempt("EndpointSlices", cluster.list(queryOf(ENDPOINT_SLICES, { namespace, labelSelector }))),
  ]);
  if (service === undefined) return { slices, unread };
  const own = { service: service.object, slices, unread };
  const isDecided = failoverRequest(key, own).decidedBy !== undefined;
  const whole = isDecided
    ? undefined
    : await attempt("Namespace", cluster.objects.get(NAMESPACES, { name: namespace }));
  const reading = { ...own, ...(whole !== undefined && { namespace: whole.object }) };
  const { failover } = failoverRequest(key, reading);
  if (failover === "declined" || failover === "not-requested") return reading;
  const page = await attempt("the controller's result", leaderPage(cluster, key));
  return { ...reading, ...(page !== undefined && { page }) };
}

/** `/debug` of the controller that leads, with this Service. Rejects with an ApiFault. */
async function leaderPage(cluster: Cluster, key: ObjectKey): Promise<unknown> {
  const pods = await podsOf(cluster, "controller");
  if (pods.length === 0) throw new ApiFault("absent", "there is no pod of it");
  const pages = await Promise.allSettled(
    pods.map((pod) => debugPage(cluster, pod, `?failover=${encodeURIComponent(key)}`)),
  );
  const read = pages.flatMap((one) => (one.status === "fulfilled" ? [one.value] : []));
  const leads = read.find((page) => field(page, "leader") === true);
  if (leads !== undefined) return leads;
  const failed = pages.find((one) => one.status === "rejected");
  throw failed?.reason ?? new ApiFault("absent", "no replica leads");
}

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
