import { FAMILIES, type Family } from "../../api/address.ts";
import type { Reason } from "../../api/reasons.ts";
import type { ImportFact, NodeFact, Port, SliceFact } from "../model/facts.ts";
import type { ImportView } from "../model/model.ts";
import { candidatesOf } from "./candidates.ts";
import { choose } from "./choose.ts";
import type { Excluded, ImportPlan, PlannedVip, Remark } from "./import-plan.ts";
import { type Ladder, ladderOf } from "./ladder.ts";
import { listed } from "./listed.ts";
import { budgeted } from "./slice-budget.ts";
import { planVip } from "./vips.ts";
import { servicePortName, type VirtualService } from "./virtual-service.ts";

/** What was decided about one port in one family. */
interface PlannedPort {
  readonly service: VirtualService;
  readonly excluded: readonly Excluded[];
}

/**
 * Decides about one import: a pure function of its facts and of the node, without memory. Imports do not
 * depend on one another (contested VIPs are settled in the view), so this is both the step of an update and,
 * over all imports, the whole plan.
 */
export function planImport(view: ImportView, node: NodeFact): ImportPlan {
  const vips = (view.fact?.vips ?? []).map((vip) => planVip(vip, view.heldBy, node, view.listed));
  const reason = importReason(view.fact, vips);
  if (view.fact === undefined || reason !== "programmed") {
    return { importKey: view.key, reason, vips, services: [], excluded: [] };
  }
  const ladder = ladderOf(view.fact.selectors, node);
  const unused: Excluded[] = [];
  const remarks: Remark[] = [];
  const ports: PlannedPort[] = [];
  const own = { IPv4: vipsOf(view.fact, vips, "IPv4"), IPv6: vipsOf(view.fact, vips, "IPv6") };
  const usable: SliceFact[] = [];
  for (const slice of view.slices) {
    if (!slice.active) unused.push(wholeSlice(slice, "inactive"));
    else if (own[slice.family].length === 0) unused.push(wholeSlice(slice, "other-family"));
    else usable.push(slice);
  }
  const { within, beyond } = budgeted(usable, view.fact, ladder, node);
  unused.push(...beyond.map((slice) => wholeSlice(slice, "too-many-endpoints")));
  for (const slice of within) {
    if (slice.cluster === undefined) remarks.push({ slice: slice.key, reason: "origin-unknown" });
  }
  for (const family of FAMILIES) {
    if (own[family].length === 0) continue;
    const slices = within.filter((slice) => slice.family === family);
    for (const port of view.fact.ports) {
      ports.push(planPort(view.fact, port, family, own[family], slices, node, ladder));
    }
  }
  return {
    importKey: view.key,
    reason,
    vips,
    services: ports.map(({ service }) =>
      resets(view.fact, service) ? { ...service, listed: listed(service, view.slices) } : service,
    ),
    excluded: [...unused, ...ports.flatMap((port) => port.excluded)],
    ...(remarks.length > 0 && { remarks }),
  };
}

/** Only TCP has a reset: a deleted SCTP association would fall silent, and UDP is always cleaned up. */
function resets(fact: ImportFact | undefined, service: VirtualService): boolean {
  return fact?.onEndpointDeath === "reset" && service.protocol === "TCP";
}

function importReason(fact: ImportFact | undefined, vips: readonly PlannedVip[]): Reason {
  if (fact === undefined) return "not-imported";
  if (fact.headless) return "headless";
  if (vips.length === 0) return "no-vip";
  if (!vips.some((vip) => vip.reason === "programmed")) return vips[0]?.reason ?? "no-vip";
  return fact.ports.length === 0 ? "no-port" : "programmed";
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
  ladder: Ladder,
): PlannedPort {
  const { candidates, notExposing } = candidatesOf(port, slices, ladder, node);
  const choice = choose(candidates, fact);
  const tier = choice.tier === undefined ? undefined : ladder[choice.tier]?.name;
  const service: VirtualService = {
    importKey: fact.key,
    portName: port.name,
    protocol: port.protocol,
    port: port.port,
    family,
    vips,
    reason: choice.reason,
    endpoints: choice.chosen.map(({ address, port: target, origin, maybeHere }) => ({
      address,
      port: target,
      maybeHere,
      ...(origin.cluster !== undefined && { cluster: origin.cluster }),
    })),
    ...(tier !== undefined && { tier }),
    ...(fact.affinitySeconds !== undefined && { affinitySeconds: fact.affinitySeconds }),
    ...(fact.scheduler !== undefined && { scheduler: fact.scheduler }),
  };
  const servicePort = servicePortName(service);
  const losers: Excluded[] = choice.excluded.map(({ candidate, reason }) => ({
    slice: candidate.slice,
    address: candidate.address,
    tier: ladder[candidate.tier]?.name ?? "",
    servicePort,
    reason,
    ...(candidate.origin.cluster !== undefined && { cluster: candidate.origin.cluster }),
  }));
  const silent = notExposing.map((slice) => wholeSlice(slice, "port-not-exposed", servicePort));
  return { service, excluded: [...losers, ...silent] };
}
