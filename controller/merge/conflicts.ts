import { shown } from "../../api/problem.ts";
import { split } from "../model/exported-metadata.ts";
import type { ExportRecord, ServicePort } from "../model/facts.ts";
import { inKeyOrder } from "../model/manifest.ts";
import type { Conflict, ConflictReason } from "./merged.ts";

/** How exports of a service are compared in one property. */
interface Rule {
  readonly reason: ConflictReason;
  readonly field: string;
  /** True if the younger export disagrees. */
  readonly differs: (oldest: ExportRecord, younger: ExportRecord) => boolean;
  /** The winning value, for messages. */
  readonly value: (oldest: ExportRecord) => string;
}

/** A rule for a property with one value. */
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

/** In the order of the condition's message. */
const RULES: readonly Rule[] = [
  // Any difference, even one that merging hides (KEP-1645).
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
    // A different affinity has its own reason.
    differs: (oldest, younger) =>
      oldest.sessionAffinity === "ClientIP" &&
      younger.sessionAffinity === "ClientIP" &&
      secondsOf(oldest) !== secondsOf(younger),
    value: (oldest) => `timeoutSeconds ${secondsOf(oldest)}`,
  },
  single(
    "InternalTrafficPolicyConflict",
    "internalTrafficPolicy",
    // Unset on API servers older than the field.
    ({ internalTrafficPolicy }) => internalTrafficPolicy ?? "Cluster",
  ),
  single("TrafficDistributionConflict", "trafficDistribution", ({ trafficDistribution }) =>
    // PreferClose is the old name of PreferSameZone (KEP-3015).
    trafficDistribution === "PreferClose" ? "PreferSameZone" : (trafficDistribution ?? ""),
  ),
  // Maps are compared as a whole.
  metadata("LabelsConflict", "exportedLabels", ({ metadata: { labels } }) => labels),
  metadata(
    "AnnotationsConflict",
    "exportedAnnotations",
    ({ metadata: { annotations } }) => split(annotations).users,
  ),
  {
    reason: "IPFamilyConflict",
    field: "ipFamilies",
    // A family that only younger exports have is not imported, so it is no conflict.
    differs: (oldest, younger) =>
      oldest.families.some((family) => !younger.families.includes(family)),
    value: ({ families }) => shown(families.join(", ")),
  },
];

/** The conflicts of one service; `seniors`: `bySeniority` with this decider. */
export function conflictsOf(seniors: readonly ExportRecord[], decider?: string): Conflict[] {
  const [oldest, ...younger] = seniors;
  if (oldest === undefined) return [];
  return RULES.flatMap(({ reason, field, differs, value }) => {
    const disagree = younger.filter((record) => differs(oldest, record)).length;
    if (disagree === 0) return [];
    const { cluster: winner } = oldest;
    const chosen = winner === decider ? ({ isChosen: true } as const) : {};
    return [
      { reason, field, winner, ...chosen, value: value(oldest), disagree, of: seniors.length },
    ];
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

/** Kubernetes' default. */
function secondsOf({ affinitySeconds }: ExportRecord): number {
  return affinitySeconds ?? 10800;
}

/** A port for messages: `http 80/TCP`. */
export function portText({ name, protocol, port, appProtocol }: ServicePort): string {
  const number = `${port}/${protocol}`;
  const named = name === "" ? number : `${name} ${number}`;
  return appProtocol === undefined ? named : `${named} ${appProtocol}`;
}
