import type { ObjectKey } from "../../api/names.ts";
import type { Protocol } from "../../api/protocol.ts";
import type { Reason } from "../../api/reasons.ts";
import { CodedError } from "../../common/errors.ts";
import type { Conflict } from "../backends/backend.ts";
import { servicePortName, type VirtualService } from "../plan/virtual-service.ts";

/** Why a service is not in the kernel as planned. */
export type QuarantineReason = Extract<
  Reason,
  "refused-by-kernel" | "affinity-unsupported" | "server-foreign"
>;

/** A service that is not in the kernel, or not as planned, so that all others can be. */
export interface QuarantinedService {
  readonly importKey: ObjectKey;
  /** `ns/name:port`. */
  readonly servicePort: string;
  readonly protocol: Protocol;
  readonly reason: QuarantineReason;
  /** What the tool reported, or what is in the place of the service. */
  readonly error?: unknown;
}

/** A service that is quarantined for a reason. */
export function quarantined(
  service: VirtualService,
  reason: QuarantineReason,
  error?: unknown,
): QuarantinedService {
  const { importKey, protocol } = service;
  return { importKey, servicePort: servicePortName(service), protocol, reason, error };
}

/** A service that a foreign object keeps out of the kernel. */
export function conflicting({ message, ...service }: Conflict): QuarantinedService {
  return { ...service, error: new CodedError("CSP_PLACE_TAKEN", message) };
}
