import { field, isFields, textField } from "../../api/parse/fields.ts";
import type { ApiResource, Manifest, ObjectName } from "../kubernetes/resource.ts";

/** Leases, as the API server serves them since Kubernetes 1.14. */
export const LEASES: ApiResource = {
  group: "coordination.k8s.io",
  versions: ["v1"],
  resource: "leases",
  kind: "Lease",
};

/** The spec of a Lease. */
export interface LeaseTerms {
  /** Holder; empty if released. */
  readonly holder: string;
  /** Duration in milliseconds; undefined if unset. */
  readonly duration: number | undefined;
  /** Number of changes of the holder. */
  readonly transitions: number;
}

/** Parses a Lease; invalid fields count as unset. PURE. */
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

/** An update that acquires, renews or releases a Lease. */
export interface LeaseUpdate {
  /** Empty to release it. */
  readonly holder: string;
  /** Milliseconds; whole seconds. */
  readonly duration: number;
  /** From `microTime`; only informative. */
  readonly time: string;
}

/** The updated Lease, with all other fields of `before`: its resourceVersion makes a concurrent change fail. PURE. */
export function claimed(name: ObjectName, before: unknown, claim: LeaseUpdate): Manifest {
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

/** A MicroTime. `count` sets the last digits, because the API server ignores a renewal with the same time. PURE. */
export function microTime(date: Date, count: number): string {
  const digits = String(count % 1000).padStart(3, "0");
  return date.toISOString().replace("Z", `${digits}Z`);
}

function record(value: unknown): object {
  return isFields(value) ? value : {};
}
