import type { ObjectKey } from "../../api/names.ts";
import type { Protocol } from "../../api/protocol.ts";
import type { Reason } from "../../api/reasons.ts";
import { CodedError } from "../../common/errors.ts";
import type { Obstacle } from "../backends/backend.ts";
import { servicePortName, type VirtualService } from "../plan/virtual-service.ts";

/** Why a service is not in the kernel as it was planned. */
export type SetAsideReason = Extract<
  Reason,
  "refused-by-kernel" | "affinity-unsupported" | "server-foreign"
>;

/** A service that is not in the kernel, or not as it was planned, so that all others can be. */
export interface SetAside {
  readonly importKey: ObjectKey;
  /** `ns/name:port`. */
  readonly servicePort: string;
  readonly protocol: Protocol;
  readonly reason: SetAsideReason;
  /** Why, where that was not said by the transaction that has failed. */
  readonly error?: CodedError;
}

/** A service that is set aside for a reason. */
export function setAside(service: VirtualService, reason: SetAsideReason): SetAside {
  const { importKey, protocol } = service;
  return { importKey, servicePort: servicePortName(service), protocol, reason };
}

/** What is set aside because of something of somebody else's. */
export function obstructed({ message, ...service }: Obstacle): SetAside {
  return { ...service, error: new CodedError("CSP_PLACE_TAKEN", message) };
}
