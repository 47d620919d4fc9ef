import type { ObjectKey } from "../../api/names.ts";
import type { VirtualService } from "../plan/virtual-service.ts";

/** Names one service of a family: one port and protocol of an import. */
export interface ServiceRef {
  readonly key: ObjectKey;
  /** `80 TCP`. */
  readonly port: string;
}

/** The name of a service. */
export function refOf({ importKey, port, protocol }: VirtualService): ServiceRef {
  return { key: importKey, port: `${port} ${protocol}` };
}
