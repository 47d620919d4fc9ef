import type { ObjectKey } from "../../api/names.ts";
import type { VirtualService } from "../plan/virtual-service.ts";

/** Everything that the kernel of one family should hold, as of now. */
export interface Wanted {
  /** Every import that wants anything, and perhaps some that want nothing. */
  keys(): Iterable<ObjectKey>;
  /**
   * The services of one import as they are planned now, in a form that costs no memory: the function gives the
   * same whenever it is called, whatever has changed since.
   */
  services(key: ObjectKey): () => readonly VirtualService[];
  /** True if any slice tells of an import's endpoints, be it that none is ready. */
  readonly told: (key: ObjectKey) => boolean;
}
