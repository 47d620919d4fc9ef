import type { NodeFact } from "../../agent/model/facts.ts";
import type { ImportView } from "../../agent/model/model.ts";
import type { ImportPlan } from "../../agent/plan/import-plan.ts";
import { planImport } from "../../agent/plan/plan.ts";
import { servicePortName } from "../../agent/plan/virtual-service.ts";
import type { Reason } from "../../api/reasons.ts";
import type { Severity } from "../exit-code.ts";
import type { Problem } from "./readings.ts";

/** How bad a reason of an import or a port is: connections are rejected, or forwarded to a last resort; those not listed are well. */
const SEVERITIES: Readonly<Partial<Record<Reason, Problem["severity"]>>> = {
  "no-vip": "fault",
  "no-port": "fault",
  "import-limit": "fault",
  "namespace-limit": "fault",
  "node-limit": "fault",
  "not-imported": "warning",
  "vip-conflict": "fault",
  "vip-contested": "fault",
  "vip-reserved": "fault",
  "vip-not-allowed": "fault",
  "vip-in-use": "fault",
  "family-off": "fault",
  "no-endpoint": "fault",
  "no-selected-endpoint": "fault",
  "no-endpoint-on-node": "fault",
  "nearest-serving": "warning",
  "nearest-unanswering": "warning",
};

/** How bad the reason of an import's plan, or of a port's, is. PURE. */
export function severityOf(reason: Reason): Severity {
  return SEVERITIES[reason] ?? "well";
}

/** The problem of one import as this node plans it, the worst if there are several; undefined if there is none. PURE. */
export function importProblem(view: ImportView, node: NodeFact): Problem | undefined {
  // Whether this node has an endpoint of its own says nothing about the others.
  if (view.fact?.nodeLocal === true) return undefined;
  const found = [...problemsOf(planImport(view, node))];
  return found.find(({ severity }) => severity === "fault") ?? found[0];
}

function* problemsOf({
  importKey,
  reason,
  vips,
  services,
  limited,
}: ImportPlan): Generator<Problem> {
  const object = `ServiceImport ${importKey}`;
  const held = vips.find((vip) => vip.heldBy !== undefined);
  const severity = severityOf(reason);
  if (severity !== "well") {
    const detail = held && `${held.address} belongs to ${held.heldBy}`;
    yield { object, severity, reason, ...(detail !== undefined && { detail }) };
  }
  for (const service of services) {
    const bad = severityOf(service.reason);
    const detail = `${servicePortName(service)} ${service.protocol} ${service.family}`;
    if (bad !== "well") yield { object, severity: bad, reason: service.reason, detail };
  }
  if (limited !== undefined && severity === "well") {
    const detail = `${limited.slices} slices are left out, in full or in part`;
    yield { object, severity: "warning", reason: limited.reason, detail };
  }
}
