import { FAMILIES, type Family } from "../../api/address.ts";
import type { Reason } from "../../api/reasons.ts";
import type { ImportFact, ImportPort, NodeFact } from "../model/facts.ts";
import type { ImportView } from "../model/model.ts";
import { candidatesOf } from "./candidates.ts";
import { choose } from "./choose.ts";
import type { Excluded, ImportPlan, PlannedVip } from "./import-plan.ts";
import { LADDER, type Ladder } from "./ladder.ts";
import { planVip } from "./vips.ts";
import { servicePortName, type VirtualService } from "./virtual-service.ts";

/**
 * Decides about one import: a pure function of its facts and of the node, without memory. Imports do not
 * depend on one another (contested VIPs are settled in the view), so this is both the step of an update and,
 * over all imports, the whole plan.
 */
export function planImport(view: ImportView, node: NodeFact, ladder: Ladder = LADDER): ImportPlan {
  const vips = (view.fact?.vips ?? []).map((vip) => planVip(vip, view.heldBy, node));
  const reason = importReason(view.fact, vips);
  if (view.fact === undefined || reason !== "programmed") {
    return { importKey: view.key, reason, vips, services: [], excluded: [] };
  }
  const excluded: Excluded[] = inactive(view);
  const services: VirtualService[] = [];
  for (const family of FAMILIES) {
    const own = vipsOf(view.fact, vips, family);
    if (own.length === 0) continue;
    for (const port of view.fact.ports) {
      const planned = planPort(view, view.fact, port, family, own, node, ladder);
      services.push(planned.service);
      excluded.push(...planned.excluded);
    }
  }
  return { importKey: view.key, reason, vips, services, excluded };
}

function importReason(fact: ImportFact | undefined, vips: readonly PlannedVip[]): Reason {
  if (fact === undefined) return "not-imported";
  if (fact.headless) return "headless";
  if (vips.length === 0) return "no-vip";
  if (!vips.some((vip) => vip.reason === "programmed")) return vips[0]?.reason ?? "no-vip";
  return fact.ports.length === 0 ? "no-port" : "programmed";
}

function inactive(view: ImportView): Excluded[] {
  return view.slices
    .filter((slice) => !slice.active)
    .map((slice) => ({
      slice: slice.key,
      reason: "inactive",
      ...(slice.cluster !== undefined && { cluster: slice.cluster }),
    }));
}

function vipsOf(fact: ImportFact, vips: readonly PlannedVip[], family: Family): string[] {
  return fact.vips
    .filter((vip, i) => vip.family === family && vips[i]?.reason === "programmed")
    .map((vip) => vip.text);
}

function planPort(
  view: ImportView,
  fact: ImportFact,
  port: ImportPort,
  family: Family,
  vips: readonly string[],
  node: NodeFact,
  ladder: Ladder,
): { service: VirtualService; excluded: Excluded[] } {
  const { candidates, notExposing } = candidatesOf(port, family, view.slices, ladder, node);
  const choice = choose(candidates, fact);
  const tier = choice.tier === undefined ? undefined : ladder[choice.tier]?.name;
  const service: VirtualService = {
    importKey: view.key,
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
  };
  const servicePort = servicePortName(service);
  const excluded: Excluded[] = choice.excluded.map(({ candidate, reason }) => ({
    slice: candidate.slice,
    address: candidate.address,
    tier: ladder[candidate.tier]?.name ?? "",
    servicePort,
    reason,
    ...(candidate.origin.cluster !== undefined && { cluster: candidate.origin.cluster }),
  }));
  for (const slice of notExposing) {
    excluded.push({
      slice: slice.key,
      servicePort,
      reason: "port-not-exposed",
      ...(slice.cluster !== undefined && { cluster: slice.cluster }),
    });
  }
  return { service, excluded };
}
