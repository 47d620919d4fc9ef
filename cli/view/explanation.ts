import type { HeldPort } from "../../agent/backends/backend.ts";
import type { EndpointCondition } from "../../agent/model/endpoints.ts";
import type { EndpointFact, NodeFact, SliceFact } from "../../agent/model/facts.ts";
import type { ImportView } from "../../agent/model/model.ts";
import type { ImportPlan, PlannedVip, SetAsidePort } from "../../agent/plan/import-plan.ts";
import { importerOf, originOf } from "../../agent/plan/origin.ts";
import { planImport } from "../../agent/plan/plan.ts";
import {
  destination,
  servicePortName,
  type VirtualService,
} from "../../agent/plan/virtual-service.ts";
import type { Reason } from "../../api/reasons.ts";
import { tierIndex, tiersOf } from "../../api/tiers/tiers.ts";
import type { Severity } from "../exit-code.ts";
import { kernelDifferences, knownToAgent, planDifferences } from "./plan-differences.ts";
import { severityOf } from "./problems.ts";
import type { Unread } from "./readings.ts";

/** One endpoint of a port, or a whole slice of which none is used. Field names are those of `-o json`. */
export interface ExplainedEndpoint {
  readonly tier: string;
  readonly cluster: string;
  /** `10.1.0.1:80`, or `slice shop/web-1` if none of the slice's endpoints is used. */
  readonly endpoint: string;
  readonly condition?: EndpointCondition;
  readonly zone?: string;
  readonly node?: string;
  /** Its part of new connections, 0 to 1. */
  readonly share: number;
  /** Why it is used, or not. */
  readonly reason: Reason;
}

/** One port in one IP family. */
export interface ExplainedPort {
  /** `ns/name:port`. */
  readonly port: string;
  readonly protocol: string;
  readonly family: string;
  readonly number: number;
  readonly reason: Reason;
  /** Absent if connections are rejected. */
  readonly tier?: string;
  /** Nearest tier first. */
  readonly endpoints: readonly ExplainedEndpoint[];
  readonly severity: Severity;
}

/** What the node's agent has planned, or what its kernel holds, beside what it should be. */
export interface Comparison {
  readonly state: "same" | "differs" | "unread";
  readonly differences: readonly string[];
  readonly unread?: Unread;
}

/** Why connections to an import from one node go where they go. */
export interface Explanation {
  readonly context: string;
  readonly import: string;
  readonly node: string;
  readonly cluster?: string;
  readonly region?: string;
  readonly zone?: string;
  readonly reason: Reason;
  readonly vips: readonly PlannedVip[];
  readonly ports: readonly ExplainedPort[];
  readonly agent: Comparison & {
    /** Reasons of its plan that only the node can know. */
    readonly known: readonly string[];
    /** Ports whose rules are not in the kernel as planned, and why. */
    readonly setAside: readonly SetAsidePort[];
  };
  readonly kernel: Comparison;
  readonly severity: Severity;
}

/** What the node's agent reports. */
export interface AgentPages {
  readonly plan: ImportPlan | Unread;
  readonly held: readonly HeldPort[] | Unread;
}

/** Explains an import for a node; `isWanted`: which ports. PURE. */
export function explanation(
  context: string,
  view: ImportView,
  node: NodeFact,
  agent: AgentPages,
  isWanted: (service: VirtualService) => boolean,
): Explanation {
  const plan = planImport(view, node);
  const ports = plan.services
    .filter(isWanted)
    .map((service) => explained(service, plan, view, node));
  const of = ({ services, ...rest }: ImportPlan) => ({
    ...rest,
    services: services.filter(isWanted),
  });
  const agents = "services" in agent.plan ? of(agent.plan) : agent.plan;
  const isPlan = "services" in agents;
  const planned = isPlan ? compared(planDifferences(of(plan), agents)) : unread(agents);
  const kernel = heldOf(agents, agent.held);
  const severities: Severity[] = [
    severityOf(plan.reason),
    ...ports.map(({ severity }) => severity),
    ...[planned, kernel].map(({ state }): Severity => (state === "same" ? "well" : "warning")),
  ];
  const { cluster, region, zone } = node;
  return {
    context,
    import: plan.importKey,
    node: node.name,
    ...(cluster !== undefined && { cluster }),
    ...(region !== undefined && { region }),
    ...(zone !== undefined && { zone }),
    reason: plan.reason,
    vips: plan.vips,
    ports,
    agent: {
      ...planned,
      known: isPlan ? knownToAgent(agents) : [],
      setAside: (isPlan && agents.setAside) || [],
    },
    kernel,
    severity: worst(severities),
  };
}

function heldOf(plan: ImportPlan | Unread, held: AgentPages["held"]): Comparison {
  if ("detail" in held) return unread(held);
  return "services" in plan ? compared(kernelDifferences(plan, held)) : unread(plan);
}

function compared(differences: readonly string[]): Comparison {
  return { state: differences.length === 0 ? "same" : "differs", differences };
}

function unread(why: Unread): Comparison {
  return { state: "unread", differences: [], unread: why };
}

function worst(severities: readonly Severity[]): Severity {
  if (severities.includes("fault")) return "fault";
  return severities.includes("warning") ? "warning" : "well";
}

function explained(
  service: VirtualService,
  plan: ImportPlan,
  view: ImportView,
  node: NodeFact,
): ExplainedPort {
  const tiers = view.fact === undefined ? [] : tiersOf(view.fact, importerOf(node));
  const order = new Map(tiers.map(({ name }, i) => [name, i]));
  const name = servicePortName(service);
  const slices = view.slices.filter(({ family }) => family === service.family);
  const known = new Map(slices.map((slice) => [slice.key, slice]));
  const tierOf = (slice: SliceFact) => tiers[tierIndex(originOf(slice, node), tiers)]?.name ?? "";
  const portOf = (slice: SliceFact) =>
    slice.ports.find((one) => one.name === service.portName && one.protocol === service.protocol);
  const shares = sharesOf(service);
  // Looked up for each of thousands of endpoints.
  const facts = new Map(
    slices.map((slice) => [slice, new Map([...slice.endpoints].map((one) => [one.address, one]))]),
  );
  const used = service.endpoints.map((one): ExplainedEndpoint => {
    const slice = slices.find(
      (each) =>
        each.cluster === one.cluster &&
        portOf(each)?.port === one.port &&
        facts.get(each)?.has(one.address),
    );
    return {
      tier: service.tier ?? "",
      cluster: one.cluster ?? "?",
      endpoint: destination(one.address, one.port),
      ...factsOf(slice && facts.get(slice)?.get(one.address)),
      share: shares.get(one) ?? 0,
      reason: service.reason,
    };
  });
  const left = plan.excluded.flatMap(
    ({ slice: key, address, tier, cluster, servicePort, reason }) => {
      const slice = known.get(key);
      if (slice === undefined || (servicePort !== undefined && servicePort !== name)) return [];
      const port = portOf(slice)?.port ?? 0;
      return [
        {
          tier: tier ?? tierOf(slice),
          cluster: cluster ?? slice.cluster ?? "?",
          endpoint: address === undefined ? `slice ${key}` : destination(address, port),
          ...(address !== undefined && factsOf(facts.get(slice)?.get(address))),
          share: 0,
          reason,
        },
      ];
    },
  );
  const rank = ({ tier }: ExplainedEndpoint) => order.get(tier) ?? tiers.length;
  const endpoints = [...used, ...left].toSorted((a, b) => rank(a) - rank(b) || b.share - a.share);
  const nearer =
    service.tier !== undefined &&
    left.some((one) => rank(one) < (order.get(service.tier ?? "") ?? 0));
  const severity = severityOf(service.reason);
  return {
    port: name,
    protocol: service.protocol,
    family: service.family,
    number: service.port,
    reason: service.reason,
    ...(service.tier !== undefined && { tier: service.tier }),
    endpoints,
    severity: severity === "well" && nearer ? "warning" : severity,
  };
}

function factsOf(fact: EndpointFact | undefined) {
  if (fact === undefined) return {};
  const { condition, zone, nodeName } = fact;
  return {
    condition,
    ...(zone !== undefined && { zone }),
    ...(nodeName !== undefined && { node: nodeName }),
  };
}

/** Each endpoint's part of new connections. */
function sharesOf({ endpoints, shares }: VirtualService) {
  const counts = Map.groupBy(endpoints, ({ cluster = "" }) => cluster);
  const total = shares?.reduce((sum, { weight }) => sum + weight, 0) ?? 0;
  const weights = new Map(shares?.map(({ cluster, weight }) => [cluster, weight / total]));
  return new Map(
    endpoints.map((one) => {
      const { cluster = "" } = one;
      const part = (weights.get(cluster) ?? 0) / (counts.get(cluster)?.length ?? 1);
      return [one, shares === undefined ? 1 / endpoints.length : part];
    }),
  );
}
