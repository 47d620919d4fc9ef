import { type Address, FAMILIES, type Family } from "../../api/address.ts";
import { classOf } from "../../api/address-class.ts";
import { type Cidr, contains } from "../../api/cidr.ts";
import type { Reason } from "../../api/reasons.ts";
import { type Tiers, tierIndex, tiersOf } from "../../api/tiers/tiers.ts";
import type { VipHolder } from "../../api/vip-holders.ts";
import type { ImportFact, NodeFact, Port, SliceFact } from "../model/facts.ts";
import { type ImportView, portInFamily } from "../model/model.ts";
import type { Allowance } from "../model/rule-budget.ts";
import { importCost } from "../model/rule-cost.ts";
import { candidatesOf } from "./candidates.ts";
import { type Choice, choose } from "./choose.ts";
import type { Excluded, ImportPlan, PlannedVip, Remark } from "./import-plan.ts";
import { importerOf, originOf } from "./origin.ts";
import { silenceOf } from "./silent.ts";
import { budgeted, type LeftOut } from "./slice-budget.ts";
import { destination, servicePortName, type VirtualService } from "./virtual-service.ts";

/** The decision about one port in one family. */
interface PlannedPort {
  readonly service: VirtualService;
  readonly excluded: readonly Excluded[];
}

/** Slices and endpoints beyond a limit that are listed one by one: there may be any number. */
const MOST_NAMED = 100;

/** Plans one import, independent of all others: the view resolves VIP conflicts. PURE. */
export function planImport(view: ImportView, node: NodeFact): ImportPlan {
  const { fact, limit } = view;
  const vips = (fact?.vips ?? []).map((vip) => ({
    ...planVip(vip, view.heldBy, node, view.listed),
    ...(fact?.previousVips?.includes(vip.text) && { previous: true as const }),
  }));
  const reason = importReason(fact, vips, limit);
  if (fact === undefined || reason !== "programmed") {
    const limited = reason === limit?.reason && { reason, slices: view.slices.length };
    const nothing = { importKey: view.key, reason, vips, services: [], excluded: [] };
    return { ...nothing, ...(limited && { limited }) };
  }
  const tiers = tiersOf(fact, importerOf(node));
  const excluded: Excluded[] = [];
  const remarks: Remark[] = [];
  const ports: PlannedPort[] = [];
  const own = { IPv4: vipsOf(fact, vips, "IPv4"), IPv6: vipsOf(fact, vips, "IPv6") };
  const isSuperseded = supersededIn(view.slices);
  const isUsable = (slice: SliceFact) =>
    slice.active && own[slice.family].length > 0 && !isSuperseded(slice);
  const { within, beyond } =
    limit === undefined
      ? { within: view.slices, beyond: [] }
      : budgeted(view.slices, fact, limit.rules, isUsable, tiers, node);
  const used: SliceFact[] = [];
  for (const slice of within) {
    if (slice.omitted) excluded.push(wholeSlice(slice, "too-many-endpoints"));
    if (slice.omitted && slice.endpoints.length === 0) continue;
    if (isUsable(slice)) used.push(ofItsCluster(slice, node, excluded));
    else if (!slice.active) excluded.push(wholeSlice(slice, "inactive"));
    else excluded.push(wholeSlice(slice, isSuperseded(slice) ? "superseded" : "other-family"));
  }
  for (const slice of used) {
    if (slice.cluster === undefined) remarks.push({ slice: slice.key, reason: "origin-unknown" });
    if (slice.waits && slice.shift?.direction === "draining") {
      remarks.push({ slice: slice.key, reason: "draining" });
    }
  }
  const limited = limit && { reason: limit.reason, slices: beyond.length };
  if (limited !== undefined) excluded.push(...leftOut(beyond, limited.reason));
  for (const family of FAMILIES) {
    if (own[family].length === 0) continue;
    const slices = used.filter((slice) => slice.family === family);
    for (const port of fact.ports) {
      ports.push(planPort(fact, port, family, own[family], slices, node, tiers, view));
    }
  }
  // Without all endpoints of all slices it is unknown which endpoints are gone: their connections are kept.
  const isInside = (slice: SliceFact) => !tiers[tierIndex(originOf(slice, node), tiers)]?.walled;
  const kept = fact.onlySelected ? view.slices.filter(isInside) : view.slices;
  const listable = beyond.length === 0 && !view.slices.some(({ omitted }) => omitted);
  return {
    importKey: view.key,
    reason,
    vips,
    services: ports.map(({ service }) =>
      listable && resets(fact, service)
        ? { ...service, keeps: listedEndpoints(service, kept, deadBy(view, fact, node)) }
        : service,
    ),
    excluded: [...excluded, ...ports.flatMap((port) => port.excluded)],
    ...(remarks.length > 0 && { remarks }),
    ...(limited !== undefined && { limited }),
  };
}

/**
 * Slices of another writer for a cluster of which our controller has slices. During a migration the other writer may have
 * stopped, so that its endpoints are ready for ever, or may list a Service's ClusterIP, which no node translates twice.
 */
function supersededIn(slices: readonly SliceFact[]): (slice: SliceFact) => boolean {
  const known = new Set(
    slices.flatMap(({ ours, active, cluster }) => (ours && active ? cluster : [])),
  );
  return ({ ours, cluster }) => !ours && cluster !== undefined && known.has(cluster);
}

/** The slice without endpoints that its source cluster cannot have; these are added to `excluded`. */
function ofItsCluster(slice: SliceFact, node: NodeFact, excluded: Excluded[]): SliceFact {
  const { cluster } = slice;
  const ranges = cluster === undefined ? undefined : node.endpointRanges.get(cluster);
  if (cluster === undefined || ranges === undefined) return slice;
  const { inside, outside } = slice.endpoints.within(ranges);
  for (const address of outside) {
    excluded.push({ slice: slice.key, address, cluster, reason: "outside-endpoint-cidrs" });
  }
  return outside.length === 0 ? slice : { ...slice, endpoints: inside };
}

/** Only for TCP: a deleted SCTP association would hang. */
function resets(fact: ImportFact, service: VirtualService): boolean {
  return fact.onEndpointDeath === "reset" && service.protocol === "TCP";
}

/** UDP has no end of a connection: a client stays with its endpoint only while that is ready. */
function keptBy({ ready }: Choice): string[] {
  return ready.map((one) => destination(one.address, one.port));
}

function importReason(
  fact: ImportFact | undefined,
  vips: readonly PlannedVip[],
  limit: Allowance | undefined,
): Reason {
  if (fact === undefined) return "not-imported";
  if (fact.headless) return "headless";
  if (vips.length === 0) return "no-vip";
  if (!vips.some((vip) => vip.reason === "programmed")) return vips[0]?.reason ?? "no-vip";
  if (fact.ports.length === 0) return "no-port";
  return limit !== undefined && importCost(fact) > limit.rules ? limit.reason : "programmed";
}

/** The first slices beyond a limit; of a slice that is used in part, its endpoints. */
function leftOut(beyond: readonly LeftOut[], reason: Allowance["reason"]): Excluded[] {
  const excluded: Excluded[] = [];
  for (const { slice, kept } of beyond.slice(0, MOST_NAMED)) {
    const whole = wholeSlice(slice, reason);
    if (kept === 0) excluded.push(whole);
    else {
      const rest = [...slice.endpoints].slice(kept);
      excluded.push(...rest.map(({ address }) => ({ ...whole, address })));
    }
  }
  return excluded.slice(0, MOST_NAMED);
}

function wholeSlice(slice: SliceFact, reason: Reason, servicePort?: string): Excluded {
  return {
    slice: slice.key,
    reason,
    ...(slice.cluster !== undefined && { cluster: slice.cluster }),
    ...(servicePort !== undefined && { servicePort }),
  };
}

function vipsOf(fact: ImportFact, vips: readonly PlannedVip[], family: Family): string[] {
  return fact.vips
    .filter((vip, i) => vip.family === family && vips[i]?.reason === "programmed")
    .map((vip) => vip.text);
}

function planPort(
  fact: ImportFact,
  port: Port,
  family: Family,
  vips: readonly string[],
  slices: readonly SliceFact[],
  node: NodeFact,
  tiers: Tiers,
  { silence, inUse }: Pick<ImportView, "silence" | "inUse">,
): PlannedPort {
  const found = silence && { of: silence, to: fact };
  const { candidates, notExposing } = candidatesOf(port, slices, tiers, node, found);
  const before = inUse?.get(portInFamily({ ...port, family }));
  const active = tiers.findIndex(({ name }) => name === before);
  const choice = choose(candidates, fact, active < 0 ? undefined : active);
  const tier = choice.tier === undefined ? undefined : tiers[choice.tier]?.name;
  const unanswering = choice.excluded
    .filter(({ reason }) => reason === "unanswering")
    .map(({ candidate }) => destination(candidate.address, candidate.port));
  const service: VirtualService = {
    importKey: fact.key,
    portName: port.name,
    protocol: port.protocol,
    port: port.port,
    family,
    vips,
    reason: choice.reason,
    endpoints: choice.chosen.map(({ address, port: target, origin }) => ({
      address,
      port: target,
      ...(origin.cluster !== undefined && { cluster: origin.cluster }),
    })),
    ...(choice.shares && { shares: choice.shares }),
    ...(tier !== undefined && { tier }),
    ...(fact.affinitySeconds !== undefined && { affinitySeconds: fact.affinitySeconds }),
    ...(fact.scheduler !== undefined && { scheduler: fact.scheduler }),
    ...(port.protocol === "UDP" && { keeps: fact.udp === "follow" ? [] : keptBy(choice) }),
    ...(unanswering.length > 0 && { unanswering }),
  };
  const servicePort = servicePortName(service);
  const excluded: Excluded[] = choice.excluded.map(({ candidate, reason }) => ({
    slice: candidate.slice,
    address: candidate.address,
    tier: tiers[candidate.tier]?.name ?? "",
    servicePort,
    reason,
    ...(candidate.origin.cluster !== undefined && { cluster: candidate.origin.cluster }),
  }));
  const unexposed = notExposing.map((slice) => wholeSlice(slice, "port-not-exposed", servicePort));
  return { service, excluded: [...excluded, ...unexposed] };
}

/** Decides about one VIP. An explicit VIP must be allowed, and not be an address that the node or its cluster needs. */
export function planVip(
  vip: Address,
  heldBy: ReadonlyMap<string, VipHolder>,
  node: NodeFact,
  listed?: ReadonlySet<string>,
): PlannedVip {
  const reason = rejection(vip, node);
  if (reason !== undefined) return { address: vip.text, reason };
  if (listed?.has(vip.text)) return { address: vip.text, reason: "vip-in-use" };
  const holder = heldBy.get(vip.text);
  if (holder === "contested") return { address: vip.text, reason: "vip-contested" };
  if (holder !== undefined) return { address: vip.text, reason: "vip-conflict", heldBy: holder };
  return { address: vip.text, reason: "programmed" };
}

function rejection(vip: Address, node: NodeFact): Reason | undefined {
  if (!node.clusterSetCidrs.some((cidr) => cidr.family === vip.family)) return "family-off";
  if (node.reservedAddresses.has(vip.text) || classOf(vip) !== undefined) return "vip-reserved";
  if (node.clusterSetCidrs.some((cidr) => contains(cidr, vip))) return undefined;
  const isIn = (ranges: readonly Cidr[]) => ranges.some((cidr) => contains(cidr, vip));
  const { podCidrs, nodePodCidrs, serviceCidrs, subnets, network } = node;
  if (network.addresses.has(vip.text)) return "vip-reserved";
  if ([podCidrs, nodePodCidrs, serviceCidrs, subnets, network.ranges].some(isIn)) {
    return "vip-reserved";
  }
  // A range of all addresses says nothing.
  const isOfPeer = (ranges: readonly Cidr[]) => isIn(ranges.filter(({ bits }) => bits > 0));
  if ([...node.endpointRanges.values()].some(isOfPeer)) return "vip-reserved";
  return isIn(node.explicitVipCidrs) ? undefined : "vip-not-allowed";
}

/** Whether an endpoint of a slice is dead although the slice lists it. */
type IsDead = (slice: SliceFact, address: string, port: number) => boolean;

/**
 * Two witnesses show that a TCP endpoint is dead: it does not answer this node, and its cluster is out of rotation (`serving`): its
 * Lease has expired, or an operator has drained it. A dead cluster cannot delete its slices. One witness is not enough: an API server that is away says nothing
 * about pods, and an endpoint that takes no new connection may serve old ones.
 */
function deadBy(
  { silence }: Pick<ImportView, "silence">,
  fact: ImportFact,
  node: NodeFact,
): IsDead {
  return (slice, address, port) => {
    const { cluster } = originOf(slice, node);
    const listener = { address, tcpPorts: [port], ...(cluster !== undefined && { cluster }) };
    return silence !== undefined && silenceOf(listener, silence, fact, node) !== undefined;
  };
}

/** All endpoints that slices list for the port of `service`, without dead ones: of any condition and tier, in active and inactive slices. */
function listedEndpoints(
  service: VirtualService,
  slices: readonly SliceFact[],
  isDead: IsDead,
): readonly string[] {
  const found = new Set<string>();
  for (const slice of slices) {
    if (slice.family !== service.family) continue;
    const target = slice.ports.find(
      ({ name, protocol }) => name === service.portName && protocol === service.protocol,
    );
    if (target === undefined) continue;
    for (const { address, condition } of slice.endpoints) {
      if (condition === "serving" && isDead(slice, address, target.port)) continue;
      found.add(destination(address, target.port));
    }
  }
  return [...found];
}
