import type { ObjectKey } from "../../api/names.ts";
import type { VirtualService } from "../plan/virtual-service.ts";

/** One service: an import's port and protocol, in the one family that all this is about. */
export interface Unit {
  readonly key: ObjectKey;
  readonly id: string;
}

/** What tells a service of one family from all others. */
export function unitOf({ importKey, port, protocol }: VirtualService): Unit {
  return { key: importKey, id: `${port} ${protocol}` };
}
