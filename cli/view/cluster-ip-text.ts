import { isReason, REASONS } from "../../api/reasons.ts";
import { type ClusterIpUse, type ExplainedClusterIp, isFailoverConcerned } from "./cluster-ip.ts";
import type { PreparedEndpoints } from "./prepared-endpoints.ts";

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
  if (more > 0) parts.push(`those of ${more} more clusters`);
  return parts.join(", ") || "no endpoint (connections are rejected)";
}

function counted(count: number, what: string): string {
  return `${count} ${what}${count === 1 ? "" : "s"}`;
}
