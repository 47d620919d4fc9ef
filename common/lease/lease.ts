import type { ApiResource, Manifest, ObjectName } from "../kubernetes/api-resource.ts";
import { field, textField } from "../kubernetes/json.ts";

/** Leases, as the API server serves them since Kubernetes 1.14. */
export const LEASES: ApiResource = {
  group: "coordination.k8s.io",
  versions: ["v1"],
  resource: "leases",
  kind: "Lease",
};

/** What a Lease says. */
export interface LeaseTerms {
  /** Who holds it; empty: nobody. */
  readonly holder: string;
  /** Milliseconds for which it is held after a renewal; undefined if it does not say. */
  readonly duration: number | undefined;
  /** How often its holder has changed. */
  readonly transitions: number;
}

/** What a Lease says; whatever else it may be is none of our terms. PURE. */
export function leaseTerms(lease: unknown): LeaseTerms {
  const spec = field(lease, "spec");
  const seconds = field(spec, "leaseDurationSeconds");
  const transitions = field(spec, "leaseTransitions");
  return {
    holder: textField(spec, "holderIdentity") ?? "",
    duration: typeof seconds === "number" && seconds > 0 ? seconds * 1000 : undefined,
    transitions: typeof transitions === "number" && transitions >= 0 ? transitions : 0,
  };
}

/** Who takes, renews or releases a Lease. */
export interface LeaseClaim {
  /** Empty: it is released. */
  readonly holder: string;
  /** Milliseconds; whole seconds. */
  readonly duration: number;
  /** As `microTime` gives it; of no meaning to anybody but people. */
  readonly time: string;
}

/**
 * The Lease that a claim makes of one that was seen: every field that is not the claim's stays, and so does the
 * resourceVersion, so that it can only take the place of that one. `before`: undefined if there was none. PURE.
 */
export function claimed(name: ObjectName, before: unknown, claim: LeaseClaim): Manifest {
  const terms = leaseTerms(before);
  const isOther = claim.holder !== terms.holder;
  const lease = {
    ...record(before),
    metadata: { ...record(field(before, "metadata")), ...name },
    spec: {
      ...record(field(before, "spec")),
      holderIdentity: claim.holder,
      leaseDurationSeconds: Math.round(claim.duration / 1000),
      renewTime: claim.time,
      ...(isOther && { acquireTime: claim.time }),
      ...(isOther && claim.holder !== "" && { leaseTransitions: terms.transitions + 1 }),
    },
  };
  return lease;
}

/**
 * A time of day in the form of Kubernetes' MicroTime. The last three digits count on with `count`: two renewals are
 * never the same text, or the API server would take the second for no change. PURE.
 */
export function microTime(date: Date, count: number): string {
  const digits = String(count % 1000).padStart(3, "0");
  return date.toISOString().replace("Z", `${digits}Z`);
}

function record(value: unknown): object {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? value : {};
}
