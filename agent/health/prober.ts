import type { TcpEndpoint } from "./evidence.ts";
import type { HealthEvents } from "./health-events.ts";
import type { ProbeResult } from "./judge.ts";

/** Connects to an endpoint. Never rejects. */
export type Probe = (endpoint: TcpEndpoint) => Promise<ProbeResult>;

/** Probes endpoints and reports the results; knows whether the node's own uplink may be at fault, which ends with the first answer. */
export class Prober {
  readonly #probe: Probe;
  readonly #events: HealthEvents;
  #isUplinkSilent = false;

  constructor(probe: Probe, events: HealthEvents) {
    this.#probe = probe;
    this.#events = events;
  }

  /** Never rejects. */
  async probe(endpoint: TcpEndpoint): Promise<ProbeResult> {
    const result = await this.#probe(endpoint);
    this.#events.probed(result);
    if (result === "accepted" || result === "refused") this.setUplink(false);
    return result;
  }

  /** Whether nothing of any other cluster answers. */
  setUplink(isSilent: boolean): void {
    if (isSilent === this.#isUplinkSilent) return;
    this.#isUplinkSilent = isSilent;
    this.#events.uplink(isSilent);
  }
}
