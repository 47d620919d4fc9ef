import { shown } from "../../api/problem.ts";
import type { ExportRecord, ServicePort } from "../model/facts.ts";
import { inKeyOrder } from "../model/manifest.ts";
import type { Conflict, ConflictReason } from "./merged.ts";

/** How one property is compared between the exports of a service. */
interface Rule {
  readonly reason: ConflictReason;
  readonly field: string;
  /** True if the younger export's property is none that the oldest's can stand for. */
  readonly differs: (oldest: ExportRecord, younger: ExportRecord) => boolean;
  /** The oldest's property, for people. */
  readonly value: (oldest: ExportRecord) => string;
}

/** A rule for a property that has one value, and differs where the values do. */
function single(
  reason: ConflictReason,
  field: string,
  textOf: (record: ExportRecord) => string,
): Rule {
  return {
    reason,
    field,
    differs: (oldest, younger) => textOf(oldest) !== textOf(younger),
    value: (oldest) => shown(textOf(oldest)),
  };
}

/** In the order in which a condition names them. */
const RULES: readonly Rule[] = [
  // Any difference, also one that a union hides: who calls the port of one cluster must know (KEP-1645).
  {
    ...single("PortConflict", "ports", ({ ports }) =>
      JSON.stringify(ports.map(portText).toSorted()),
    ),
    value: ({ ports }) => shown(ports.map(portText).join(", ")),
  },
  single("TypeConflict", "type", ({ headless }) => (headless ? "Headless" : "ClusterSetIP")),
  single("SessionAffinityConflict", "sessionAffinity", ({ sessionAffinity }) => sessionAffinity),
  {
    reason: "SessionAffinityConfigConflict",
    field: "sessionAffinityConfig",
    // Who disagrees about the affinity itself is told so by its own reason.
    differs: (oldest, younger) =>
      oldest.sessionAffinity === "ClientIP" &&
      younger.sessionAffinity === "ClientIP" &&
      secondsOf(oldest) !== secondsOf(younger),
    value: (oldest) => `timeoutSeconds ${secondsOf(oldest)}`,
  },
  single(
    "InternalTrafficPolicyConflict",
    "internalTrafficPolicy",
    // The default of a Service; unset where its API server is older than the field.
    ({ internalTrafficPolicy }) => internalTrafficPolicy ?? "Cluster",
  ),
  single("TrafficDistributionConflict", "trafficDistribution", ({ trafficDistribution }) =>
    // An older name of the same (KEP-3015), and all that an older API server takes.
    trafficDistribution === "PreferClose" ? "PreferSameZone" : (trafficDistribution ?? ""),
  ),
  // Not merged key by key: the map of one export counts whole.
  metadata("LabelsConflict", "exportedLabels", ({ metadata: { labels } }) => labels),
  metadata(
    "AnnotationsConflict",
    "exportedAnnotations",
    ({ metadata: { annotations } }) => annotations,
  ),
  {
    reason: "IPFamilyConflict",
    field: "ipFamilies",
    // A family that only younger exports have gets no VIP, so it cannot reach a part of the backends only.
    differs: (oldest, younger) =>
      oldest.families.some((family) => !younger.families.includes(family)),
    value: ({ families }) => shown(families.join(", ")),
  },
];

/** What the exports of one service do not agree on; the oldest comes first. */
export function conflictsOf(seniors: readonly ExportRecord[]): Conflict[] {
  const [oldest, ...younger] = seniors;
  if (oldest === undefined) return [];
  return RULES.flatMap(({ reason, field, differs, value }) => {
    const disagree = younger.filter((record) => differs(oldest, record)).length;
    if (disagree === 0) return [];
    const { cluster: winner } = oldest;
    return [{ reason, field, winner, value: value(oldest), disagree, of: seniors.length }];
  });
}

function metadata(
  reason: ConflictReason,
  field: string,
  mapOf: (record: ExportRecord) => Readonly<Record<string, string>>,
): Rule {
  return {
    ...single(reason, field, (record) => JSON.stringify(inKeyOrder(mapOf(record)))),
    value: (oldest) => shown(mapOf(oldest)),
  };
}

/** Kubernetes' default, which its API server fills in. */
function secondsOf({ affinitySeconds }: ExportRecord): number {
  return affinitySeconds ?? 10800;
}

function portText({ name, protocol, port, appProtocol }: ServicePort): string {
  const number = `${port}/${protocol}`;
  const named = name === "" ? number : `${name} ${number}`;
  return appProtocol === undefined ? named : `${named} ${appProtocol}`;
}
