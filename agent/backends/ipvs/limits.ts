import type { Family } from "../../../api/address.ts";
import { PROTOCOLS, type Protocol } from "../../../api/protocol.ts";
import type { Scheduler } from "../../../api/scheduler.ts";
import { codeOf } from "../../../common/errors.ts";
import type { Limits } from "../limits.ts";
import { probeServer } from "./probe.ts";

/** Tries the protocols of virtual servers. One that the kernel has accepted is not tried again. */
export class ProtocolTrials {
  readonly #scheduler: Scheduler;
  readonly #accepted = new Set<`${Family} ${Protocol}`>();

  constructor(scheduler: Scheduler) {
    this.#scheduler = scheduler;
  }

  /** What a family cannot do on this node: protocols that the kernel rejects. IPVS always has affinity. Never rejects. */
  async limits(family: Family): Promise<Limits> {
    const protocols = new Set(PROTOCOLS);
    for (const protocol of PROTOCOLS) {
      if (this.#accepted.has(`${family} ${protocol}`)) continue;
      try {
        await probeServer(family, protocol, this.#scheduler);
        this.#accepted.add(`${family} ${protocol}`);
      } catch (error) {
        // Any other error says nothing about the protocol, and the first transaction reports it.
        if (codeOf(error) === "CSP_IPVS_REFUSED") protocols.delete(protocol);
      }
    }
    return { affinity: true, protocols };
  }
}
