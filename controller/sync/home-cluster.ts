import type { Cidr } from "../../api/cidr.ts";
import type { ObjectKey } from "../../api/names.ts";
import type { FaultReason } from "../../common/kubernetes/api-fault.ts";
import { publishedAsReady } from "../liveness/collective-drop.ts";
import { Contact } from "../liveness/contact.ts";
import { ReadinessHold } from "../liveness/readiness-hold.ts";
import type { SliceFact } from "../model/facts.ts";
import { OwnCluster } from "../stores/own-cluster.ts";
import { AddressRanges } from "./address-ranges.ts";
import type { ControllerOptions } from "./controller-options.ts";
import { OwnFeeds } from "./own-feeds.ts";
import { VipBook } from "./vip-book.ts";

/** Who is told what may have to be done because of a change in our own cluster. */
export interface HomeClusterTold {
  /** Everything that is needed has been listed. Once. */
  listed(): void;
  /** What a ServiceExport publishes may be something else. */
  exporting(key: ObjectKey): void;
  /** What a name imports, or has imported, may be something else. */
  importing(key: ObjectKey): void;
  /** A namespace has come, changed or gone. */
  namespace(name: string): void;
  /** A ClusterProperty has come, changed or gone. */
  property(): void;
}

/**
 * Our own cluster, read from its API server, and what follows from it alone: which addresses are taken, and whether we
 * are in contact, so that unreadiness is to be believed.
 */
export class HomeCluster {
  /** All that is believed of it. */
  readonly own: OwnCluster;
  readonly vips: VipBook;
  readonly #feeds: OwnFeeds;
  readonly #ranges: AddressRanges;
  readonly #hold: ReadinessHold;
  readonly #contact: Contact;

  constructor(
    options: Pick<ControllerOptions, "api" | "clock" | "config" | "events" | "follow">,
    told: HomeClusterTold,
  ) {
    const { api, clock, config, events, follow } = options;
    this.vips = new VipBook(config.clusterSetCidrs);
    const own = new OwnCluster(config.clusterSetCidrs, {
      exporting: (key) => told.exporting(key),
      importing: (key) => told.importing(key),
      namespace: (name) => told.namespace(name),
      property: () => told.property(),
      slices: (service) => this.#hold.serviceChanged(service),
      taken: (object, addresses) => this.vips.take(object, addresses),
      problems: (object, problems) => events.problems(undefined, object, problems),
    });
    this.own = own;
    this.#ranges = new AddressRanges({ config, own, vips: this.vips, follow: follow(api), events });
    this.#hold = new ReadinessHold({
      clock,
      services: () => own.servicesWithSlices(),
      slicesOf: (service) => own.serviceSlices.factsOf(service),
      events: {
        changed: (services) => {
          for (const service of services) told.exporting(service);
        },
        held: (drop) => events.held(drop),
        believed: (drop) => events.believed(drop),
      },
    });
    this.#contact = new Contact({
      clock,
      events: {
        lost: (reason) => {
          this.#hold.lost();
          events.contactLost(reason);
        },
        regained: (ms) => {
          this.#hold.regained();
          events.contactRegained(ms);
        },
      },
    });
    this.#feeds = new OwnFeeds(follow(api), own, {
      listed: () => told.listed(),
      state: (name, state) => {
        this.#contact.state(name, state);
        events.connection(undefined, name, state);
      },
      controllers: (lease) => this.#contact.controllers(lease),
    });
  }

  /** True once everything of it has been listed. */
  get listed(): boolean {
    return this.#feeds.listed;
  }

  /** Where its objects come from, by resource: they are told what writes were answered with. */
  get feeds(): OwnFeeds["feeds"] {
    return this.#feeds.feeds;
  }

  /** Endpoints whose unreadiness is held back. */
  get heldBack(): number {
    return this.#hold.heldBack;
  }

  start(): void {
    this.#feeds.start();
    this.#ranges.start();
  }

  /** It is written to from now on; `published`: what we had published of it before. */
  begin(published: Iterable<SliceFact>): void {
    this.#ranges.compare();
    this.#hold.begin(publishedAsReady(published));
  }

  /** A slice of a Service as it is to be published now: readiness may be held back. */
  published(slice: SliceFact): SliceFact {
    return this.#hold.published(slice);
  }

  /** `source` has asked its API server for something, which it answered, or why it did not. */
  asked(source: string, fault?: FaultReason): void {
    this.#contact.asked(source, fault);
  }

  /** Ranges that endpoints of peers are declared to lie in are these. */
  declared(ranges: readonly Cidr[]): void {
    this.#ranges.declare(ranges);
  }

  /** Believes what it believed, from the call on. */
  async stop(): Promise<void> {
    this.#contact.stop();
    this.#hold.stop();
    await Promise.all([this.#feeds.stop(), this.#ranges.stop()]);
  }
}
