import type { Family } from "../../api/address.ts";
import { counted } from "../../api/count.ts";
import { namesOf, type ObjectKey } from "../../api/names.ts";
import { Complaints } from "../../api/parse/complaints.ts";
import { field, fieldAt, listOf, textField } from "../../api/parse/fields.ts";
import { problemText } from "../../api/problem.ts";
import { isPartial, isReason, REASONS } from "../../api/reasons.ts";
import type { ServicePort, SliceFact as ServiceSlice } from "../../controller/model/facts.ts";
import { isFailoverSlice } from "../../controller/model/parse-failover-slice.ts";
import { parseFailover } from "../../controller/model/parse-namespace.ts";
import { parseService } from "../../controller/model/parse-service.ts";
import { parseServiceSlice } from "../../controller/model/parse-service-slice.ts";
import type { Severity } from "../exit-code.ts";
import type { ClusterIpReading, UnreadPart } from "./readings.ts";

/** What a service proxy such as kube-proxy uses for one port of the Service in one IP family. */
export interface ClusterIpUse {
  /** Name, or the number of a port without a name. */
  readonly port: string;
  readonly protocol: string;
  readonly family: Family;
  /** Endpoints of this cluster. */
  readonly local: number;
  readonly clusters: readonly { readonly cluster: string; readonly endpoints: number }[];
  /** True: none is ready, so those that still serve are used (KEP-1669). */
  readonly lastResort: boolean;
}

/** Whether a Service or its Namespace requests failover, and which of them decides. */
interface FailoverRequest {
  readonly failover: "requested" | "declined" | "not-requested" | "unknown";
  readonly decidedBy?: "Service" | "Namespace";
  /** Values of the annotation that count as none. */
  readonly problems: readonly string[];
}

/** Whether the ClusterIP of a Service fails over to other clusters, and what it uses. Field names are those of `-o json`. */
export interface ExplainedClusterIp extends FailoverRequest {
  readonly service: "found" | "absent" | "unread";
  /** Empty for a Service without a ClusterIP. */
  readonly addresses: readonly string[];
  /** The controller's reason; absent if it did not report one. */
  readonly reason?: string;
  readonly prepared: readonly PreparedEndpoints[];
  readonly uses: readonly ClusterIpUse[];
  readonly unread: readonly UnreadPart[];
  readonly severity: Severity;
}

/** Explains the ClusterIP of a Service; `imported`: which endpoints of other clusters are ready, if that is known. PURE. */
export function explainedClusterIp(
  key: ObjectKey,
  reading: ClusterIpReading,
  imported: ReadyImported,
): ExplainedClusterIp {
  const { page, service, unread } = reading;
  const isUnread = (part: string) => unread.some(({ what }) => what === part);
  const absent = isUnread("Service") ? "unread" : "absent";
  const ips = listOf(fieldAt(service, "spec", "clusterIPs"));
  const slices = factsOf(reading.slices);
  const reason = reasonOf(page, key);
  const { failover, ...request } = failoverRequest(key, reading);
  const found: Omit<ExplainedClusterIp, "severity"> = {
    service: service === undefined ? absent : "found",
    addresses: ips.flatMap((ip) => (typeof ip === "string" && ip !== "None" ? [ip] : [])),
    // The controller lists Services that request it.
    failover: failover === "unknown" && reason !== undefined ? "requested" : failover,
    ...request,
    ...(reason !== undefined && { reason }),
    prepared: preparedIn(factsOf(reading.slices.filter(isFailoverSlice)), imported),
    uses: isUnread("EndpointSlices") ? [] : usesOf(service, slices),
    unread,
  };
  return { ...found, severity: severityOf(found) };
}

function factsOf(slices: readonly unknown[]): ServiceSlice[] {
  return slices.flatMap((slice) => parseServiceSlice(slice).fact ?? []);
}

/** Whether failover is requested, as the API server's objects say. PURE. */
export function failoverRequest(
  key: ObjectKey,
  { namespace, service, unread }: ClusterIpReading,
): FailoverRequest {
  const all = [
    ["Service", key, service],
    ["Namespace", namesOf(key).namespace, namespace],
  ] as const;
  const problems: string[] = [];
  let decided: readonly ["Service" | "Namespace", boolean] | undefined;
  let isUnknown = false;
  for (const [kind, name, object] of all) {
    const complaints = new Complaints(`${kind} ${name}`);
    const answer = parseFailover(object, complaints);
    problems.push(...complaints.problems.map(problemText));
    if (decided !== undefined) continue;
    if (answer !== undefined) decided = [kind, answer];
    isUnknown ||= answer === undefined && unread.some(({ what }) => what === kind);
  }
  if (isUnknown) return { failover: "unknown", problems };
  if (decided === undefined) return { failover: "not-requested", problems };
  const [decidedBy, isRequested] = decided;
  return { failover: isRequested ? "requested" : "declined", decidedBy, problems };
}

/** True if a Service without an import is worth an explanation: something is requested, declined, invalid or prepared. PURE. */
export function isFailoverConcerned(found: ExplainedClusterIp): boolean {
  const { failover, prepared, problems, service } = found;
  const isQuiet = failover === "not-requested" && prepared.length + problems.length === 0;
  return service === "found" && !isQuiet;
}

/** Why it has failover slices or none, by the controller's `/debug`. */
function reasonOf(page: unknown, key: ObjectKey): string | undefined {
  const one = listOf(field(page, "failover")).find((each) => field(each, "service") === key);
  return textField(one, "because");
}

function usesOf(service: unknown, slices: readonly ServiceSlice[]): ClusterIpUse[] {
  const properties = parseService(service).fact?.properties;
  if (properties === undefined || properties.headless) return [];
  return properties.families.flatMap((family) =>
    properties.ports.map((port) => useOf(port, family, slices)),
  );
}

/** Ready endpoints; if there are none, those that are serving and terminating. */
function useOf(
  { name, port, protocol }: ServicePort,
  family: Family,
  slices: readonly ServiceSlice[],
): ClusterIpUse {
  const all = slices
    .filter((slice) => slice.family === family)
    .filter(({ ports }) => ports.some((one) => one.name === name && one.protocol === protocol))
    .flatMap(({ endpoints, source }) => endpoints.map((one) => ({ ...one, source })));
  const ready = all.filter((one) => one.ready);
  const serving = all.filter((one) => one.serving && one.terminating);
  const used = ready.length > 0 ? ready : serving;
  const countOf = (source: string | undefined) =>
    new Set(used.filter((one) => one.source === source).map(({ address }) => address)).size;
  const clusters = [...new Set(used.flatMap(({ source }) => source ?? []))].sort();
  return {
    ...{ port: name === "" ? String(port) : name, protocol, family, local: countOf(undefined) },
    clusters: clusters.map((cluster) => ({ cluster, endpoints: countOf(cluster) })),
    lastResort: ready.length === 0 && used.length > 0,
  };
}

function severityOf(found: Omit<ExplainedClusterIp, "severity">): Severity {
  const { failover, prepared, problems, reason, unread, uses } = found;
  if (failover === "requested") {
    if (uses.some(({ local, clusters }) => local === 0 && clusters.length === 0)) return "fault";
    const isMissing = prepared.length === 0 || (reason !== undefined && isPartial(reason));
    const isAway = uses.some(({ clusters }) => clusters.length > 0);
    if (isMissing || isAway || unread.length > 0) return "warning";
  }
  return problems.length > 0 ? "warning" : "well";
}

/** Endpoints of one cluster and IP family that failover slices list. */
export interface PreparedEndpoints {
  readonly cluster: string;
  readonly family: Family;
  readonly endpoints: number;
  /** How many of them are ready in their cluster; absent if that is not known. The others are the last resort. */
  readonly ready?: number;
}

/** An imported slice, as far as the readiness of its endpoints is concerned. Agents' facts are. */
interface ImportedSlice {
  readonly cluster?: string;
  readonly endpoints: Iterable<{ readonly address: string; readonly condition: string }>;
}

/** Imported slices of the same name; undefined: there is no import. */
export type ReadyImported = readonly ImportedSlice[] | undefined;

/**
 * What failover slices list, by cluster and family. Their own conditions depend on local endpoints, and say nothing about
 * readiness in their cluster; those of the imported slices do. PURE.
 */
export function preparedIn(
  slices: readonly ServiceSlice[],
  imported: ReadyImported,
): PreparedEndpoints[] {
  const groups = Map.groupBy(slices, ({ family, source = "?" }) => `${source} ${family}`);
  const ready = new Set(imported?.flatMap(readyIn));
  return [...groups.keys()].sort().flatMap((name) => {
    const [first, ...rest] = groups.get(name) ?? [];
    if (first === undefined) return [];
    const { family, source = "?" } = first;
    const addresses = new Set(
      [first, ...rest].flatMap(({ endpoints }) => endpoints.map(({ address }) => address)),
    );
    if (addresses.size === 0) return [];
    const known = [...addresses].filter((address) => ready.has(`${source} ${address}`)).length;
    return [
      {
        ...{ cluster: source, family, endpoints: addresses.size },
        ...(imported !== undefined && { ready: known }),
      },
    ];
  });
}

function readyIn({ cluster, endpoints }: ImportedSlice): string[] {
  return [...endpoints].flatMap(({ address, condition }) =>
    condition === "ready" ? [`${cluster} ${address}`] : [],
  );
}

/** Clusters that a line names; `-o json` has all. */
const MOST_NAMED = 10;

/** A Service's ClusterIP as lines of an explanation: what each is about, and its text. None without a Service. PURE. */
export function clusterIpLines(found: ExplainedClusterIp): [string, string][] {
  const { addresses, problems, service, unread, uses } = found;
  if (service === "absent") return [];
  const missing = unread.map(
    ({ what, reason, detail }) => `${what} not known: ${reason}, ${detail}`,
  );
  if (service === "unread") return [["ClusterIP", missing.join("; ")]];
  const use = uses.length === 0 ? [] : [`uses ${usesText(uses)}`];
  const where = addresses.join(", ") || "none: the Service is headless, or of type ExternalName";
  const line: [string, string] = ["ClusterIP", [where, ...use].join(", ")];
  if (addresses.length === 0 && !isFailoverConcerned(found)) return [line];
  const parts = [requestText(found), ...preparedText(found), ...problems, ...missing];
  return [line, ["Failover", parts.join("; ")]];
}

function requestText({ decidedBy, failover }: ExplainedClusterIp): string {
  const words = failover === "unknown" ? "not known whether it is requested" : failover;
  return `${words.replace("-", " ")}${decidedBy === undefined ? "" : ` by the ${decidedBy}`}`;
}

function preparedText({ failover, prepared, reason, unread }: ExplainedClusterIp): string[] {
  if (failover !== "requested" && prepared.length === 0) return [];
  const word = reason === undefined ? "" : ` (${reason})`;
  const isPlain = reason === undefined || reason === "failover-prepared" || !isReason(reason);
  const meaning = isPlain ? [] : [REASONS[reason].replace(/\.$/, "")];
  if (prepared.length === 0) {
    const isUnread = unread.some(({ what }) => what === "EndpointSlices");
    const state = isUnread ? "not known whether it is prepared" : "not prepared";
    return [[`${state}${word}`, ...meaning].join(": ")];
  }
  const named = prepared.slice(0, MOST_NAMED).map(endpointsText);
  const more = prepared.length - MOST_NAMED;
  const all = [...named, ...(more > 0 ? [`and ${more} more`] : [])].join(", ");
  return [`prepared${word}: ${all}`, ...meaning];
}

/** `3 (1 ready) IPv4 endpoints of cluster-2`. */
function endpointsText({ cluster, endpoints, family, ready }: PreparedEndpoints): string {
  const state =
    ready === undefined
      ? ""
      : ready === endpoints
        ? "ready "
        : ready === 0
          ? "last-resort "
          : `(${ready} ready) `;
  return `${counted(endpoints, `${state}${family} endpoint`)} of ${cluster}`;
}

function usesText(uses: readonly ClusterIpUse[]): string {
  const texts = new Set(uses.map(useText));
  if (texts.size === 1) return [...texts].join();
  return uses
    .map((use) => `${useText(use)} for ${use.port} ${use.protocol} ${use.family}`)
    .join("; ");
}

function useText({ clusters, lastResort, local }: ClusterIpUse): string {
  const kind = lastResort ? "local terminating endpoint" : "local endpoint";
  const parts = [
    ...(local === 0 ? [] : [counted(local, kind)]),
    ...clusters
      .slice(0, MOST_NAMED)
      .map(({ cluster, endpoints }) => `${counted(endpoints, "endpoint")} of ${cluster}`),
  ];
  const more = clusters.length - MOST_NAMED;
  if (more > 0) parts.push(`those of ${counted(more, "more cluster")}`);
  return parts.join(", ") || "no endpoint (connections are rejected)";
}
