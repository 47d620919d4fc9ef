import { namesOf } from "../../api/names.ts";
import { field, textField } from "../../api/parse/fields.ts";
import { isPartial } from "../../api/partial-failover.ts";
import { isReason, REASONS } from "../../api/reasons.ts";
import type { Problem } from "./readings.ts";

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
  const detail = `ClusterIP failover of ${more} more Services, of any namespace, is not prepared`;
  return more > 0 ? [{ object: "Services", severity: "warning", reason: "", detail }] : [];
}

function serviceOf(one: unknown): string {
  return textField(one, "service") ?? "";
}

function isPrepared(one: unknown): boolean {
  const clusters = field(one, "clusters");
  return Array.isArray(clusters) && clusters.length > 0;
}
