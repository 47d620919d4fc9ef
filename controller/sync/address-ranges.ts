import { isAddress, parseAddress } from "../../api/address.ts";
import type { Cidr } from "../../api/cidr.ts";
import { overlapsOf } from "../allocate/overlaps.ts";
import type { ControllerConfig } from "../config/config.ts";
import { parseNodeRanges, parseServiceRanges, type RangesFact } from "../model/parse-ranges.ts";
import type { Observer } from "../observe/observer.ts";
import { FactStore, type FactStoreOptions } from "../stores/fact-store.ts";
import { type Follow, Informer } from "../stores/informer.ts";
import type { LocalStores } from "../stores/local-stores.ts";
import { RANGE_QUERIES } from "../stores/resources.ts";
import type { TakenAddresses } from "./taken-addresses.ts";

/** Dependencies of `AddressRanges`. */
export interface AddressRangesOptions {
  readonly config: Pick<ControllerConfig, "clusterSetCidrs" | "podCidrs" | "serviceCidrs">;
  readonly own: LocalStores;
  readonly addresses: TakenAddresses;
  readonly follow: Follow;
  readonly events: Pick<Observer, "overlapping" | "problems">;
}

/**
 * Ranges of pods and Services, from flags, Nodes, ServiceCIDRs and peers' declarations: no VIP is allocated there.
 * Nothing waits for Nodes and ServiceCIDRs, which may be missing or forbidden.
 */
export class AddressRanges {
  readonly #options: AddressRangesOptions;
  readonly #nodes: FactStore<RangesFact>;
  readonly #services: FactStore<RangesFact>;
  readonly #informers: readonly Informer[];
  #declared: readonly Cidr[] = [];
  #reported = "";

  constructor(options: AddressRangesOptions) {
    const { follow } = options;
    this.#options = options;
    this.#nodes = this.#newStore(parseNodeRanges);
    this.#services = this.#newStore(parseServiceRanges);
    const { nodes, servicecidrs } = RANGE_QUERIES;
    this.#informers = [
      new Informer({ query: nodes, sink: this.#nodes, follow }),
      new Informer({ query: servicecidrs, sink: this.#services, follow }),
    ];
    this.compare();
  }

  start(): void {
    for (const informer of this.#informers) informer.start();
  }

  async stop(): Promise<void> {
    await Promise.all(this.#informers.map((informer) => informer.stop()));
  }

  /** Sets the declared endpoint ranges of all peers. One of all addresses says nothing about where pods are. */
  declare(ranges: readonly Cidr[]): void {
    this.#declared = ranges.filter(({ bits }) => bits > 0);
    this.compare();
  }

  /** Reserves all known ranges, and reports overlaps with the ClusterSet CIDRs. */
  compare(): void {
    const { addresses, config, events, own } = this.#options;
    const podCidrs = [...config.podCidrs, ...[...this.#nodes.facts()].flat(), ...this.#declared];
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

  #newStore(parse: FactStoreOptions<RangesFact>["parse"]): FactStore<RangesFact> {
    const { events } = this.#options;
    return new FactStore({
      parse,
      changed: () => this.compare(),
      problems: (object, problems) => events.problems(undefined, object, problems),
    });
  }
}
