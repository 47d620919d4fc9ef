import type { NodeFact } from "../../agent/model/facts.ts";
import type { ImportView } from "../../agent/model/model.ts";
import type { ImportPlan } from "../../agent/plan/import-plan.ts";
import { planImport } from "../../agent/plan/plan.ts";
import { servicePortName } from "../../agent/plan/virtual-service.ts";
import { counted } from "../../api/count.ts";
import { PROPERTY_REGION } from "../../api/keys.ts";
import { namesOf } from "../../api/names.ts";
import { field, textField } from "../../api/parse/fields.ts";
import { isPartial, isReason, REASONS, type Reason } from "../../api/reasons.ts";
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
    const detail = `${counted(limited.slices, "slice")} left out, in full or in part`;
    yield { object, severity: "warning", reason: limited.reason, detail };
  }
}

/** Services that request ClusterIP failover, and those of them that have slices. Field names are those of `-o json`. */
export interface FailoverCount {
  readonly requested: number;
  readonly prepared: number;
}

/** How many Services of a cluster request failover, by its controller's `/debug`; undefined: none, or it does not say. PURE. */
export function failoverCount(page: unknown): FailoverCount | undefined {
  const counts = field(page, "failoverServices");
  const [requested, prepared] = [field(counts, "requested"), field(counts, "prepared")];
  if (typeof requested !== "number" || typeof prepared !== "number") return undefined;
  return { requested, prepared };
}

/** Services that request failover and do not have it, or a part of it only; of one namespace if that is requested. PURE. */
export function failoverProblems(page: unknown, namespace: string | undefined): Problem[] {
  const listed = field(page, "failover");
  const all = Array.isArray(listed) ? listed : [];
  const meant = all.filter(
    (one) => namespace === undefined || namesOf(serviceOf(one)).namespace === namespace,
  );
  const problems = meant.flatMap(problemOf);
  return [...problems, ...unlisted(page, all)];
}

function problemOf(one: unknown): Problem[] {
  const reason = textField(one, "because") ?? "";
  if (isPrepared(one) && !isPartial(reason)) return [];
  const what = isPrepared(one) ? "prepared in part" : "not prepared";
  const why = isReason(reason) ? `: ${REASONS[reason]}` : "";
  const detail = `ClusterIP failover is ${what}${why}`;
  return [{ object: `Service ${serviceOf(one)}`, severity: "warning", reason, detail }];
}

/** The page lists the first hundred. */
function unlisted(page: unknown, all: readonly unknown[]): Problem[] {
  const { requested, prepared } = failoverCount(page) ?? { requested: 0, prepared: 0 };
  const more = requested - prepared - all.filter((one) => !isPrepared(one)).length;
  const detail = `ClusterIP failover of ${counted(more, "more Service")}, of any namespace, is not prepared`;
  return more > 0 ? [{ object: "Services", severity: "warning", reason: "", detail }] : [];
}

function serviceOf(one: unknown): string {
  return textField(one, "service") ?? "";
}

function isPrepared(one: unknown): boolean {
  const clusters = field(one, "clusters");
  return Array.isArray(clusters) && clusters.length > 0;
}

/** The regions of nodes, each once. Where flags give a cluster its region, what it publishes does not matter there. PURE. */
export function regionsOf(
  nodes: readonly Pick<NodeFact, "cluster" | "clusterRegions" | "region">[],
): string[] {
  const byLabel = nodes.filter(({ cluster = "", clusterRegions }) => !clusterRegions.has(cluster));
  return [...new Set(byLabel.flatMap(({ region }) => region ?? []))].sort();
}

/**
 * Whether a cluster publishes the region in which its agents are. `join` copies the label of Nodes once: they may have it later, or the
 * manifests were applied by hand. PURE.
 */
export function regionProblems(
  cluster: string,
  published: string | undefined,
  /** Of its agents, each once. */
  regions: readonly string[],
): Problem[] {
  const [first] = regions;
  if (first === undefined || (published !== undefined && regions.includes(published))) return [];
  const [only] = regions.length === 1 ? [first] : ["REGION"];
  const reason = published === undefined ? "region-missing" : "region-differs";
  const detail =
    `Nodes are in ${regions.join(", ")}, the cluster publishes ${published ?? "no region"}: ` +
    `set ClusterProperty ${PROPERTY_REGION} to ${only}, or join again with --region`;
  return [{ object: `Cluster ${cluster}`, severity: "warning", reason, detail }];
}
