import { isAddress, parseAddress } from "../../api/address.ts";
import type { Cidr } from "../../api/cidr.ts";
import { overlapsOf } from "../allocate/overlaps.ts";
import type { ControllerConfig } from "../config/config.ts";
import type { NodeFact } from "../model/parse-node.ts";
import { parseServiceRanges, type RangesFact } from "../model/parse-ranges.ts";
import type { Observer } from "../observe/observer.ts";
import { FactStore } from "../stores/fact-store.ts";
import { type Follow, Informer } from "../stores/informer.ts";
import type { LocalStores } from "../stores/local-stores.ts";
import { SERVICE_CIDRS_QUERY } from "../stores/resources.ts";
import type { TakenAddresses } from "./taken-addresses.ts";

/** Dependencies of `AddressRanges`. */
export interface AddressRangesOptions {
  readonly config: Pick<ControllerConfig, "clusterSetCidrs" | "podCidrs" | "serviceCidrs">;
  readonly own: LocalStores;
  readonly addresses: TakenAddresses;
  readonly nodes: () => Iterable<NodeFact>;
  readonly follow: Follow;
  readonly events: Pick<Observer, "overlapping" | "problems">;
}

/**
 * Ranges of pods and Services, from flags, Nodes, ServiceCIDRs and peers' declarations: no VIP is allocated there.
 * Nothing waits for Nodes and ServiceCIDRs, which may be missing or forbidden.
 */
export class AddressRanges {
  readonly #options: AddressRangesOptions;
  readonly #services: FactStore<RangesFact>;
  readonly #informer: Informer;
  #declared: readonly Cidr[] = [];
  #reported = "";
  #isDue = false;

  constructor(options: AddressRangesOptions) {
    const { events, follow } = options;
    this.#options = options;
    this.#services = new FactStore({
      parse: parseServiceRanges,
      changed: () => this.compareSoon(),
      problems: (object, problems) => events.problems(undefined, object, problems),
    });
    this.#informer = new Informer({ query: SERVICE_CIDRS_QUERY, sink: this.#services, follow });
    this.compare();
  }

  start(): void {
    this.#informer.start();
  }

  stop(): Promise<void> {
    return this.#informer.stop();
  }

  /** Sets the declared endpoint ranges of all peers. One of all addresses says nothing about where pods are. */
  declare(ranges: readonly Cidr[]): void {
    this.#declared = ranges.filter(({ bits }) => bits > 0);
    this.compare();
  }

  /** As `compare`, in the next turn of the event loop: thousands of Nodes are listed one by one. */
  compareSoon(): void {
    if (this.#isDue) return;
    this.#isDue = true;
    setImmediate(() => {
      this.#isDue = false;
      this.compare();
    });
  }

  /** Reserves all known ranges, and reports overlaps with the ClusterSet CIDRs. */
  compare(): void {
    const { addresses, config, events, nodes, own } = this.#options;
    const ofNodes = [...nodes()].flatMap(({ podRanges }) => podRanges);
    const podCidrs = [...config.podCidrs, ...ofNodes, ...this.#declared];
    const serviceCidrs = [...config.serviceCidrs, ...[...this.#services.facts()].flat()];
    addresses.reserve([...podCidrs, ...serviceCidrs]);
    const clusterIps = [...own.services.facts()]
      .flatMap((service) => service.clusterIps)
      .map(parseAddress)
      .filter(isAddress);
    const overlaps = overlapsOf(config.clusterSetCidrs, { serviceCidrs, podCidrs, clusterIps });
    const text = overlaps
      .map(({ reason, range, with: other }) => `${reason} ${range.text} ${other.text}`)
      .join();
    if (text === this.#reported) return;
    this.#reported = text;
    events.overlapping(overlaps);
  }
}
