import type { ObjectKey } from "../../api/names.ts";
import type { Protocol } from "../../api/protocol.ts";
import type { Reason } from "../../api/reasons.ts";
import { servicePortName, type VirtualService } from "../plan/virtual-service.ts";

/** Why a service is not in the kernel as it was planned. */
export type SetAsideReason = Extract<Reason, "refused-by-kernel" | "affinity-unsupported">;

/** A service that is not in the kernel, or not as it was planned, so that all others can be. */
export interface SetAside {
  readonly importKey: ObjectKey;
  /** `ns/name:port`. */
  readonly servicePort: string;
  readonly protocol: Protocol;
  readonly reason: SetAsideReason;
}

/** A service that is set aside for a reason. */
export function setAside(service: VirtualService, reason: SetAsideReason): SetAside {
  const { importKey, protocol } = service;
  return { importKey, servicePort: servicePortName(service), protocol, reason };
}
