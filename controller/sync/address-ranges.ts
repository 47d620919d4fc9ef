import { isAddress, parseAddress } from "../../api/address.ts";
import type { Cidr } from "../../api/cidr.ts";
import type { Problem } from "../../api/problem.ts";
import { overlapsOf } from "../allocate/overlaps.ts";
import type { ControllerConfig } from "../config/config.ts";
import { parseNodeRanges, parseServiceRanges, type RangesFact } from "../model/parse-ranges.ts";
import { FactStore } from "../stores/fact-store.ts";
import { Feed, type Follow } from "../stores/feed.ts";
import type { OwnCluster } from "../stores/own-cluster.ts";
import { RANGE_QUERIES } from "../stores/resources.ts";
import type { ControllerEvents } from "./controller-events.ts";
import type { VipBook } from "./vip-book.ts";

/** What `AddressRanges` are made of. */
export interface AddressRangesOptions {
  /** Where VIPs come from, and ranges that an operator has named. */
  readonly config: Pick<ControllerConfig, "clusterSetCidrs" | "podCidrs" | "serviceCidrs">;
  readonly own: OwnCluster;
  readonly vips: VipBook;
  readonly follow: Follow;
  readonly events: Pick<ControllerEvents, "overlapping" | "problems">;
}

/**
 * Which ranges others have: flags say, Nodes and ServiceCIDRs say, and peers declare. No VIP is taken from there. Nothing
 * waits for Nodes and ServiceCIDRs: a cluster may have neither, and who may not read them has flags.
 */
export class AddressRanges {
  readonly #options: AddressRangesOptions;
  readonly #nodes: FactStore<RangesFact>;
  readonly #services: FactStore<RangesFact>;
  readonly #feeds: readonly Feed[];
  #declared: readonly Cidr[] = [];
  #told = "";

  constructor(options: AddressRangesOptions) {
    const { events, follow } = options;
    this.#options = options;
    const told = {
      changed: () => this.compare(),
      problems: (object: string, problems: readonly Problem[]) =>
        events.problems(undefined, object, problems),
    };
    this.#nodes = new FactStore({ parse: parseNodeRanges, told });
    this.#services = new FactStore({ parse: parseServiceRanges, told });
    const quiet = { listed: () => undefined, state: () => undefined };
    this.#feeds = [
      new Feed({ query: RANGE_QUERIES.nodes, sink: this.#nodes, follow, events: quiet }),
      new Feed({ query: RANGE_QUERIES.servicecidrs, sink: this.#services, follow, events: quiet }),
    ];
    this.compare();
  }

  start(): void {
    for (const feed of this.#feeds) feed.start();
  }

  async stop(): Promise<void> {
    await Promise.all(this.#feeds.map((feed) => feed.stop()));
  }

  /** Ranges that endpoints of peers are declared to lie in are these. */
  declare(ranges: readonly Cidr[]): void {
    this.#declared = ranges;
    this.compare();
  }

  /** Takes all that is known into account. */
  compare(): void {
    const { config, events, own, vips } = this.#options;
    const podCidrs = [...config.podCidrs, ...[...this.#nodes.facts()].flat(), ...this.#declared];
    const serviceCidrs = [...config.serviceCidrs, ...[...this.#services.facts()].flat()];
    vips.reserve([...podCidrs, ...serviceCidrs]);
    const clusterIps = [...own.services.facts()]
      .flatMap((service) => service.clusterIps)
      .map(parseAddress)
      .filter(isAddress);
    const overlaps = overlapsOf(config.clusterSetCidrs, { serviceCidrs, podCidrs, clusterIps });
    const saying = overlaps.map((one) => `${one.reason} ${one.range.text} ${one.with.text}`);
    if (saying.join() === this.#told) return;
    this.#told = saying.join();
    events.overlapping(overlaps);
  }
}
