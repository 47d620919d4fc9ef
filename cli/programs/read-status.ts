import { namesOf } from "../../api/names.ts";
import { fieldAt } from "../../api/parse/fields.ts";
import { isUsage } from "../../common/config/usage.ts";
import { queryOf, SERVICE_EXPORTS } from "../../common/kubernetes/kinds.ts";
import { Slots } from "../../common/queue/slots.ts";
import { agentFacts, modelOf, nodeGroups } from "../agents/facts.ts";
import { agentSettings, readAgentObjects } from "../agents/objects.ts";
import type { Cluster } from "../clusters/cluster.ts";
import { INSTALL_NAMESPACE } from "../install/workloads.ts";
import { importProblem, regionsOf } from "../view/problems.ts";
import type {
  AgentReading,
  ContextReading,
  ControllerReading,
  Problem,
  Unread,
  UnreadPart,
} from "../view/readings.ts";
import { agentPage, debugPage, type ProgramPod, podsOf, unreadOf } from "./pods.ts";

/** What is read. */
export interface StatusOptions {
  /** Only imports and exports of this namespace. */
  readonly namespace?: string;
  /** The most agents of a cluster whose pages are read; those that are not ready first. */
  readonly mostAgents: number;
}

/** Pages that are read from one cluster at the same time. */
const AT_ONCE = 8;

const CONTROLLERS = {
  group: "apps",
  versions: ["v1"],
  resource: "deployments",
  namespace: INSTALL_NAMESPACE,
  labelSelector: "app.kubernetes.io/name=clusterset-controller",
};

/** Reads a cluster's status. What cannot be read is named in `unread`; rejects with the reason of the signal only. */
export async function readStatus(
  cluster: Cluster,
  options: StatusOptions,
  signal: AbortSignal,
): Promise<ContextReading> {
  const unread: UnreadPart[] = [];
  const attempt = async <Value>(what: string, read: Promise<Value>, otherwise: Value) => {
    try {
      return await read;
    } catch (thrown) {
      signal.throwIfAborted();
      unread.push({ what, ...unreadOf(thrown) });
      return otherwise;
    }
  };
  const slots = new Slots(AT_ONCE);
  const namespace = options.namespace === undefined ? {} : { namespace: options.namespace };
  const [controllers, agents, plans, exports, deployments] = await Promise.all([
    attempt("controllers", controllersOf(cluster, slots, signal), []),
    attempt("agents", agentsOf(cluster, options.mostAgents, slots, signal), []),
    attempt("imports", plansOf(cluster, options.namespace), NO_PLANS),
    attempt(
      "exports",
      cluster.list(queryOf(SERVICE_EXPORTS, { ...namespace, optional: true })),
      [],
    ),
    attempt("deployments", cluster.list(CONTROLLERS), []),
  ]);
  const unknown = unknownBy(unread, controllers.length + agents.length);
  const desiredControllers = fieldAt(deployments[0], "spec", "replicas");
  const desiredAgents = fieldAt(plans.daemonSet, "status", "desiredNumberScheduled");
  return {
    context: cluster.context,
    ...(unknown !== undefined && { unknown }),
    controllers,
    ...(typeof desiredControllers === "number" && { desiredControllers }),
    agents,
    ...(typeof desiredAgents === "number" && { desiredAgents }),
    imports: plans.imports,
    exports,
    problems: plans.problems,
    nodeRegions: plans.nodeRegions,
    ...namespace,
    unread: unknown === undefined ? unread : [],
  };
}

/** What `unread` names if nothing could be read. */
const PARTS = ["controllers", "agents", "imports", "exports", "deployments"];

/** Faults of a cluster as a whole; other ones are of a resource. */
const OF_CLUSTER = ["unreachable", "stalled", "no-credentials", "unauthorized", "not-served"];

/** Why nothing is known of a cluster: nothing can be read, or its API server has no CRDs of ours, and there are no pods. */
function unknownBy(unread: readonly UnreadPart[], pods: number): Unread | undefined {
  const imports = unread.find(({ what }) => what === "imports");
  if (imports === undefined || pods > 0) return undefined;
  // Each missing right is named.
  const failed = unread.flatMap(({ what, reason }) => (reason === "forbidden" ? [] : [what]));
  const isNothing = PARTS.every((part) => failed.includes(part));
  if (!isNothing && !OF_CLUSTER.includes(imports.reason)) return undefined;
  const { reason, detail } = imports;
  return { reason, detail };
}

const NO_PLANS = {
  imports: [] as readonly unknown[],
  problems: [] as readonly Problem[],
  daemonSet: undefined as unknown,
  nodeRegions: [] as readonly string[],
};

/** Imports, and the problems of their plans, as one of the nodes plans them. */
async function plansOf(cluster: Cluster, namespace: string | undefined): Promise<typeof NO_PLANS> {
  const objects = await readAgentObjects(cluster);
  const isMeant = (object: unknown) =>
    namespace === undefined || fieldAt(object, "metadata", "namespace") === namespace;
  const found = {
    imports: [...objects.imports].filter(isMeant),
    daemonSet: objects.daemonSets[0],
    nodeRegions: [],
  };
  const settings = agentSettings(objects.daemonSets);
  if (isUsage(settings)) return { ...found, problems: [] };
  const facts = agentFacts(objects, settings.config);
  const groups = nodeGroups(facts, settings.config, undefined);
  const nodes = isUsage(groups) ? [] : groups.map((group) => group.node);
  const [node] = nodes;
  if (node === undefined) return { ...found, problems: [] };
  const model = modelOf(facts, settings.config);
  const problems = [...model.keys()].sort().flatMap((key) => {
    if (namespace !== undefined && namesOf(key).namespace !== namespace) return [];
    const view = model.view(key);
    return view === undefined ? [] : (importProblem(view, node) ?? []);
  });
  return { ...found, problems, nodeRegions: regionsOf(nodes) };
}

async function controllersOf(
  cluster: Cluster,
  slots: Slots,
  signal: AbortSignal,
): Promise<ControllerReading[]> {
  const pods = await podsOf(cluster, "controller");
  return Promise.all(
    pods.map(async (pod): Promise<ControllerReading> => {
      const common = { pod: pod.name, ready: pod.ready };
      try {
        return { ...common, page: await slots.hold(() => debugPage(cluster, pod)) };
      } catch (thrown) {
        signal.throwIfAborted();
        return { ...common, unread: unreadPod(thrown, pod) };
      }
    }),
  );
}

/** The pods of agents, with the pages of `most` of them. Rejects with an ApiFault. */
export async function agentsOf(
  cluster: Cluster,
  most: number,
  slots: Slots,
  signal: AbortSignal,
): Promise<AgentReading[]> {
  const pods = await podsOf(cluster, "agent");
  const order = pods.toSorted((a, b) => Number(a.ready) - Number(b.ready));
  const chosen = new Set(order.slice(0, most));
  return Promise.all(
    pods.map(async (pod): Promise<AgentReading> => {
      const { name, node = "", ready, detail } = pod;
      const common = { pod: name, node, ready, ...(detail !== undefined && { detail }) };
      if (!chosen.has(pod)) return common;
      try {
        return { ...common, page: await slots.hold(() => agentPage(cluster, pod)) };
      } catch (thrown) {
        signal.throwIfAborted();
        return { ...common, unread: unreadPod(thrown, pod) };
      }
    }),
  );
}

/** Of a pod that does not run, what Kubernetes says of it. */
function unreadPod(thrown: unknown, { detail }: ProgramPod): Unread {
  return detail === undefined ? unreadOf(thrown) : { reason: "unreachable", detail };
}
