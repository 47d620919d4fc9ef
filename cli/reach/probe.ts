import { field, fieldAt, textField } from "../../api/parse/fields.ts";
import { ApiFault } from "../../common/kubernetes/api-fault.ts";
import { NAMESPACES, PODS, queryOf, SERVICE_ACCOUNTS } from "../../common/kubernetes/kinds.ts";
import { trustedFor } from "../clusters/api-address.ts";
import type { Cluster } from "../clusters/cluster.ts";
import { until, untilEnded, untilRunning } from "../clusters/until.ts";
import type { Handover, InstallObject } from "../install/change.ts";
import type { HubAddress } from "../install/handovers.ts";
import type { Images } from "../install/manifests.ts";
import type { HubFacts, Member } from "../install/members.ts";
import {
  hostAndPort,
  LABEL_PROBE,
  NODE_PROBE,
  nodeProbePod,
  PAGE_PORT,
  type PodTarget,
  PROBE,
  probeAccount,
  probeNamespace,
  probePod,
  type ServerTarget,
} from "./probe-pod.ts";
import { type Attempt, type ProbeResults, parseAttempts } from "./report.ts";

/** A cluster from whose pods others are to be reached. */
export interface Probe {
  readonly on: Cluster;
  readonly id: string;
  readonly image: string;
  readonly servers: readonly ServerTarget[];
  /** IDs of the clusters whose probes it connects to. */
  readonly pods: readonly string[];
}

/** Options of `runProbes`. */
export interface ProbeRun {
  /** Milliseconds for the pods to start. */
  readonly timeout: number;
  readonly signal: AbortSignal;
  /** Milliseconds since 1970. */
  readonly timeOfDay: number;
  readonly warn: (sentence: string) => void;
}

/** Seconds that a pod may live after the timeout of its start. */
const SPARE_SECONDS = 120;
/** Milliseconds for a page: its port listens a moment after the pod runs. */
const PAGE_MS = 30_000;
/** Targets of a node: their results have to fit into 4,096 bytes. */
const MOST_NODE_TARGETS = 16;
/** Age of a namespace in milliseconds after which no join uses it any more. */
const LEFTOVER_MS = 3_600_000;

/**
 * Runs a pod in each cluster, which connects to API servers and to the pods of the others, and deletes them in any case, also at Ctrl-C.
 * Rejects with the reason of the signal.
 */
export async function runProbes(probes: readonly Probe[], run: ProbeRun): Promise<ProbeResults> {
  const { signal, warn } = run;
  const namespace = `clusterset-probe-${Math.random().toString(36).slice(2, 8).padEnd(6, "0")}`;
  const nameOf = (id: string) => `${namespace}/${id}`;
  const faults: string[] = [];
  const addresses = new Map<string, readonly string[]>();
  /** Those that succeed: all have ended when it returns, so that none creates an object after the deletion. */
  const each = async (among: readonly Probe[], step: (probe: Probe) => Promise<void>) => {
    const ended = await Promise.allSettled(among.map(step));
    signal.throwIfAborted();
    for (const [i, one] of ended.entries()) {
      if (one.status === "fulfilled") continue;
      if (!(one.reason instanceof ApiFault)) throw one.reason;
      faults.push(`${among[i]?.id ?? ""}: nothing is known of its pods: ${one.reason.message}`);
    }
  };
  try {
    await each(probes, async (probe) => {
      await removeLeftovers(probe.on, run);
      await start(probe, namespace, nameOf(probe.id), run);
      addresses.set(probe.id, await untilListening(probe.on, namespace, run));
    });
    const reached = new Map<string, readonly Attempt[]>();
    const running = probes.filter(({ id }) => addresses.has(id));
    await each(running, async ({ on, id, pods }) => {
      const { targets, unmatched } = podTargets(id, pods, addresses, nameOf);
      const path = `/?pods=${encodeURIComponent(JSON.stringify(targets))}`;
      reached.set(id, [...(await attempts(on, namespace, path)), ...unmatched]);
    });
    // After the pods, so that a node's probe does not delay what has to be reached.
    await Promise.all(
      running.map(async (probe) => {
        const targets = podTargets(probe.id, probe.pods, addresses, nameOf).targets;
        const found = await fromNode(probe, namespace, targets, run);
        reached.set(probe.id, [...(reached.get(probe.id) ?? []), ...found]);
      }),
    );
    signal.throwIfAborted();
    const inOrder = probes.flatMap(({ id: from }) => {
      const found = reached.get(from);
      return found === undefined ? [] : [{ from, attempts: found }];
    });
    return { reached: inOrder, addresses, faults };
  } finally {
    await Promise.all(
      probes.map(({ on }) =>
        removeNamespace(on, namespace).catch((thrown: unknown) =>
          warn(
            `${on.context}: delete namespace ${namespace}, which could not be: ${String(thrown)}`,
          ),
        ),
      ),
    );
  }
}

async function start(
  { on, image, servers }: Probe,
  namespace: string,
  name: string,
  { timeout, signal }: ProbeRun,
): Promise<void> {
  const most = Math.ceil(timeout / 1000) + SPARE_SECONDS;
  await on.objects.create(NAMESPACES, probeNamespace(namespace));
  await on.objects.create(SERVICE_ACCOUNTS, probeAccount(namespace));
  await on.objects.create(PODS, probePod({ namespace, image, name, servers, most }));
  signal.throwIfAborted();
}

/** Waits until its page answers, and so its ports listen; returns the addresses of the pod. */
async function untilListening(
  on: Cluster,
  namespace: string,
  { timeout, signal }: ProbeRun,
): Promise<readonly string[]> {
  const addresses = await untilRunning(on, { namespace, name: PROBE }, timeout, signal);
  // Without pods, it connects to API servers only: a first attempt that does not count.
  await until(PAGE_MS, signal, async () => ({ found: await attempts(on, namespace, "/") }));
  return addresses;
}

/** What the node of a pod reaches. Nothing, with a warning, where no pod may have the node's network. */
async function fromNode(
  { on, image }: Probe,
  namespace: string,
  all: readonly PodTarget[],
  { timeout, signal, warn }: ProbeRun,
): Promise<readonly Attempt[]> {
  if (all.length === 0 || signal.aborted) return [];
  const most = Math.ceil(timeout / 1000) + SPARE_SECONDS;
  const targets = all.slice(0, MOST_NODE_TARGETS);
  try {
    await on.objects.create(PODS, nodeProbePod({ namespace, image, most, targets }));
    const text = await untilEnded(on, { namespace, name: NODE_PROBE }, timeout, signal);
    const found = parseAttempts(text);
    if (found === undefined) throw new ApiFault("garbage", `Result of ${namespace}/${NODE_PROBE}`);
    return found;
  } catch (thrown) {
    if (!(thrown instanceof ApiFault)) throw thrown;
    if (!signal.aborted)
      warn(
        `${on.context}: not known whether nodes reach pods of other clusters: ${thrown.message}`,
      );
    return [];
  }
}

async function attempts(on: Cluster, namespace: string, path: string): Promise<readonly Attempt[]> {
  const page = await on.page({ namespace, pod: PROBE, port: PAGE_PORT }, path);
  const found = parseAttempts(page.text);
  if (found === undefined) throw new ApiFault("garbage", `Page of ${namespace}/${PROBE}`);
  return found;
}

/** The addresses to connect to: of the families that both pods have. */
function podTargets(
  from: string,
  pods: readonly string[],
  addresses: ReadonlyMap<string, readonly string[]>,
  nameOf: (id: string) => string,
): { readonly targets: readonly PodTarget[]; readonly unmatched: readonly Attempt[] } {
  const isIPv6 = (address: string) => address.includes(":");
  const own = new Set(addresses.get(from)?.map(isIPv6));
  const targets: PodTarget[] = [];
  const unmatched: Attempt[] = [];
  for (const to of pods) {
    const all = addresses.get(to);
    if (all === undefined) continue;
    const common = all.filter((address) => own.has(isIPv6(address)));
    targets.push(...common.map((address) => ({ to, address, name: nameOf(to) })));
    if (common.length === 0)
      unmatched.push({ to, kind: "pod", isConnected: false, ms: 0, error: "NO_FAMILY" });
  }
  return { targets, unmatched };
}

/** Deletes what a join has left that was killed. Another one may be under way. */
async function removeLeftovers(on: Cluster, { timeOfDay }: ProbeRun): Promise<void> {
  for (const one of await on.list(queryOf(NAMESPACES, { labelSelector: LABEL_PROBE }))) {
    const created = Date.parse(String(fieldAt(one, "metadata", "creationTimestamp")));
    const name = textField(field(one, "metadata"), "name");
    if (name !== undefined && created + LEFTOVER_MS < timeOfDay) await removeNamespace(on, name);
  }
}

/** With all that is in it. The pods first: a namespace is emptied by a controller, and some seconds later. */
async function removeNamespace({ objects }: Cluster, name: string): Promise<void> {
  for (const [resource, object] of [
    [PODS, { namespace: name, name: PROBE }],
    [PODS, { namespace: name, name: NODE_PROBE }],
    [NAMESPACES, { name }],
  ] as const) {
    const uid = (await objects.get(resource, object))?.meta.uid;
    if (uid !== undefined) await objects.delete(resource, object, { uid });
  }
}

/** The clusters of a join. */
interface JoiningSet {
  readonly members: readonly (Member & { readonly on: Cluster })[];
  readonly hub?: HubAddress & { readonly on: Cluster; readonly facts: HubFacts };
  readonly images: Images;
}

/** An object that a join applies in a context. */
interface PlacedObject {
  readonly on: string;
  readonly object: InstallObject;
}

/**
 * The probes of a join: for each two clusters of which one is `given` a kubeconfig now, from pods of each to the other's pods, and to the API
 * server that it will read. Members that know each other already are not examined again. `all`: each two clusters. Rejects with an ApiFault.
 */
export async function probesOf(
  given: readonly Handover[] | "all",
  objects: readonly PlacedObject[],
  { members, hub, images }: JoiningSet,
): Promise<Probe[]> {
  const isGiven = (to: Member, from?: Member) =>
    given === "all" ||
    given.some((one) => one.to === to.context && (from === undefined || one.from === from.context));
  const isPair = (a: Member, b: Member) =>
    hub === undefined ? isGiven(a, b) || isGiven(b, a) : isGiven(a) || isGiven(b);
  const probes = members.map(async (member): Promise<Probe> => {
    const others = members.filter((one) => one !== member && isPair(member, one));
    const onHub = hub !== undefined && isGiven(member);
    const servers = onHub
      ? [targetOf(hub.context, hub.on, hub.server, hub.facts.ca)]
      : hub === undefined
        ? others.map(({ id, on, server, facts }) => targetOf(id, on, server, facts.ca))
        : [];
    const { on, id, facts } = member;
    const image =
      imageIn(objects, member) ??
      images["clusterset-controller"] ??
      facts.images["clusterset-controller"];
    return {
      ...{ on, id, image: image ?? "", servers: await Promise.all(servers) },
      pods: others.map((one) => one.id),
    };
  });
  return (await Promise.all(probes)).filter(
    ({ servers, pods }) => servers.length + pods.length > 0,
  );
}

async function targetOf(
  to: string,
  on: Cluster,
  server: string,
  ofPods: string | undefined,
): Promise<ServerTarget> {
  const ca = await trustedFor(on, server, ofPods);
  return { to, ...hostAndPort(server), ...(ca !== undefined && { ca }) };
}

/** The image of the controller that a join applies. */
function imageIn(objects: readonly PlacedObject[], { context }: Member): string | undefined {
  const deployment = objects.find(
    ({ on, object }) => on === context && object.kind === "Deployment",
  )?.object;
  const containers = fieldAt(deployment, "spec", "template", "spec", "containers");
  return Array.isArray(containers) ? textField(containers[0], "image") : undefined;
}
