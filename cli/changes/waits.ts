import { counted } from "../../api/count.ts";
import { LABEL_SOURCE_CLUSTER } from "../../api/keys.ts";
import { field, fieldAt, textField } from "../../api/parse/fields.ts";
import {
  DAEMON_SETS,
  DEPLOYMENTS,
  ENDPOINT_SLICES,
  NAMESPACES,
  PODS,
  SERVICE_IMPORTS,
} from "../../common/kubernetes/kinds.ts";
import { registryNamespace } from "../../controller/registry/names.ts";
import type { Cluster } from "../clusters/cluster.ts";
import { until } from "../clusters/until.ts";
import type { InstallObject, Token, Wait, Workload } from "../install/change.ts";
import { cacheStubDomain, stubDomain } from "../install/stub-domain.ts";
import { OWN_DNS } from "../install/workloads.ts";
import { type Printable, printable, printableLines } from "../output/printable.ts";
import { debugPage, podsOf } from "../programs/pods.ts";
import { objectsOf, WRITTEN_SLICES } from "./left-objects.ts";
import { addressOfService, clusterOf, type Surroundings } from "./objects.ts";
import { tokenSecrets, untilToken } from "./tokens.ts";

/** The Service of the cluster's DNS server, and the one that NodeLocal DNSCache asks. */
const CLUSTER_DNS = { namespace: "kube-system", name: "kube-dns" };
const CACHE_UPSTREAM = { namespace: "kube-system", name: "kube-dns-upstream" };

/** Milliseconds until deleted pods or a deleted namespace are gone. */
const GONE_MS = 180_000;

/** What an attempt of `until` returns. */
type Attempt = { readonly found: undefined } | { readonly missing: string };

const REACHED: Attempt = { found: undefined };

/**
 * Waits in the cluster of a change; returns a sentence for the user, if there is one. `within`: milliseconds for programs, and for other
 * clusters. Rejects with an ApiFault that says what is missing.
 */
export async function waitFor(
  wait: Wait,
  on: Cluster,
  around: Surroundings,
  within: number,
): Promise<string | Printable | undefined> {
  const { signal } = around;
  switch (wait.for) {
    case "rollout":
      await untilRolledOut(on, wait.workload, within, signal);
      return `${wait.workload.name} is ready`;
    case "pods-ended":
      return until(GONE_MS, signal, () => podsEnded(on, wait.workload));
    case "namespace-ended":
      return until(GONE_MS, signal, () => namespaceEnded(on, wait.name));
    case "token":
      await untilToken(on, wait.token, signal);
      return undefined;
    case "token-use": {
      const of = clusterOf(around, wait.of);
      return until(within, signal, () => tokenUsed(of, wait.token, wait.by));
    }
    case "slices-gone": {
      const labelSelector = `${LABEL_SOURCE_CLUSTER}=${wait.cluster},${WRITTEN_SLICES}`;
      return until(within, signal, async () => {
        const left = await objectsOf(on, ENDPOINT_SLICES, { labelSelector });
        return noneOf(left, `${on.context}: EndpointSlices of ${wait.cluster}`);
      });
    }
    case "records-gone": {
      const namespace = registryNamespace(wait.cluster);
      return until(within, signal, async () => {
        const left = await objectsOf(on, SERVICE_IMPORTS, { namespace });
        return noneOf(left, `${on.context}: exports of ${wait.cluster}`);
      });
    }
    case "stub-domain":
      return stubDomainText(on, wait);
    case "peers": {
      const { clusters } = wait;
      await until(within, signal, () => readsPeers(on, clusters));
      return clusters.length === 0 ? undefined : `its controller reads ${clusters.join(", ")}`;
    }
  }
}

/** What the user has to add, with the address of what serves the names. */
async function stubDomainText(
  on: Cluster,
  { in: place, dns, way }: Extract<Wait, { for: "stub-domain" }>,
): Promise<Printable> {
  // NodeLocal DNSCache takes the address of kube-dns on each node, and has a Service of its own for its questions.
  const places = way === "own" ? [OWN_DNS] : [CACHE_UPSTREAM, CLUSTER_DNS];
  let address: string | undefined;
  for (const service of places) address ??= await addressOfService(on, service);
  if (address === undefined || !/^[0-9a-f.:]+$/i.test(address))
    return printable`no Service has an address for clusterset.local: docs/guides/dns.md`;
  const { where, lines } =
    place === "cache" ? cacheStubDomain(dns, address) : stubDomain(dns.kind, address);
  return printable`clusterset.local is served at ${address}. ${where}\n\n${printableLines(lines)}\n`;
}

function noneOf(left: readonly unknown[], what: string): Attempt {
  if (left.length === 0) return REACHED;
  return { missing: `${what}: ${left.length} are left, which its controller withdraws` };
}

async function namespaceEnded(on: Cluster, name: string): Promise<Attempt> {
  if ((await on.objects.get(NAMESPACES, { name })) === undefined) return REACHED;
  return { missing: `${on.context}: namespace ${name} does not end: a node may be down` };
}

async function podsEnded(on: Cluster, { metadata, spec }: InstallObject): Promise<Attempt> {
  const { namespace = "", name } = metadata;
  const labels = Object.entries(fieldAt(spec, "selector", "matchLabels") ?? {});
  const labelSelector = labels.map(([key, value]) => `${key}=${value}`).join();
  const left = await objectsOf(on, PODS, { namespace, labelSelector });
  if (left.length === 0) return REACHED;
  const pods = `${on.context}: pods of ${namespace}/${name}`;
  return { missing: `${pods}: ${left.length} do not end: a node may be down` };
}

async function tokenUsed(of: Cluster, token: Token, by: string): Promise<Attempt> {
  const { namespace, account, name } = token;
  const found = (await tokenSecrets(of, namespace, account)).find((one) => one.name === name);
  if (found?.used === true) return REACHED;
  return {
    missing: `${by}: the new token for ${namespace} is not in use yet, as ${of.context} reports it; the old one stays`,
  };
}

/**
 * Whether a controller of the cluster has listed the registries of all these members and uses them: the answer to whether its pods reach
 * the other API servers.
 */
async function readsPeers(on: Cluster, ids: readonly string[]): Promise<Attempt> {
  const pod = (await podsOf(on, "controller")).find(({ ready }) => ready);
  const page = pod && (await debugPage(on, pod));
  const missing = ids.flatMap((id) => missingPeer(page, id));
  if (missing.length === 0) return REACHED;
  return { missing: `${on.context}: its controller does not see ${missing.join("; ")}` };
}

function missingPeer(page: unknown, id: string): string[] {
  const clusters = field(page, "clusters");
  if (!Array.isArray(clusters)) return [`${id} (no controller is ready)`];
  const found = clusters.find((one) => field(one, "cluster") === id);
  if (found === undefined) return [`${id} (it is no peer yet)`];
  const isUsed = field(found, "listed") === true && field(found, "verdict") === "member";
  if (isUsed && field(found, "state") === "alive") return [];
  const words = ["state", "because", "verdict"].flatMap((key) => textField(found, key) ?? []);
  const watches = Object.values(field(found, "connections") ?? {}).filter(
    (one) => one !== "watching",
  );
  return [`${id} (${[...words, ...new Set(watches.map(String))].join(", ")})`];
}

/** Waits until all pods of a workload run its present template and are available. Rejects with an ApiFault. */
export function untilRolledOut(
  on: Cluster,
  workload: Workload,
  within: number,
  signal: AbortSignal,
): Promise<void> {
  const resource = workload.kind === "DaemonSet" ? DAEMON_SETS : DEPLOYMENTS;
  return until(within, signal, async () => {
    const { namespace, name, kind } = workload;
    const live = await on.objects.get(resource, { namespace, name });
    const { pods, updated, available, isSeen } = progressOf(live?.object, kind);
    if (isSeen && updated === pods && available === pods) return REACHED;
    const title = `${on.context}: ${namespace}/${kind.toLowerCase()}/${name}`;
    return {
      missing: `${title}: ${Math.min(updated, available)} of ${counted(pods, "pod")} up to date and available`,
    };
  });
}

function progressOf(object: unknown, kind: Workload["kind"]) {
  const number = (...path: readonly string[]) => Number(fieldAt(object, ...path) ?? 0);
  const isSeen =
    object !== undefined &&
    number("status", "observedGeneration") >= number("metadata", "generation");
  return kind === "DaemonSet"
    ? {
        isSeen,
        pods: number("status", "desiredNumberScheduled"),
        updated: number("status", "updatedNumberScheduled"),
        available: number("status", "numberAvailable"),
      }
    : {
        isSeen,
        pods: Math.max(number("spec", "replicas"), number("status", "replicas")),
        updated: number("status", "updatedReplicas"),
        available: number("status", "availableReplicas"),
      };
}
