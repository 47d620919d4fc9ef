import { isForeign } from "../export/export-of.ts";
import { ControlPlaneContact } from "../liveness/control-plane-contact.ts";
import { publishedAsReady } from "../liveness/mass-unreadiness.ts";
import { ReadinessHold } from "../liveness/readiness-hold.ts";
import type { SliceFact } from "../model/facts.ts";
import { LocalStores, type LocalStoresEvents } from "../stores/local-stores.ts";
import { AddressRanges } from "./address-ranges.ts";
import type { ControllerOptions } from "./controller-options.ts";
import { LocalInformers } from "./local-informers.ts";
import { LocalNodes } from "./local-nodes.ts";
import { TakenAddresses } from "./taken-addresses.ts";

/** What a `LocalCluster` reports. */
export interface LocalClusterEvents
  extends Pick<LocalStoresEvents, "dirty" | "namespace" | "property"> {
  /** Everything needed was listed. Once. */
  readonly listed: () => void;
  /** The local cluster's ID; undefined while it is unknown. */
  readonly id: () => string | undefined;
}

/** The local cluster: its stores, the addresses in use, and whether its readiness is reliable. */
export class LocalCluster {
  readonly stores: LocalStores;
  readonly addresses: TakenAddresses;
  readonly informers: LocalInformers;
  readonly nodes: LocalNodes;
  readonly ranges: AddressRanges;
  readonly hold: ReadinessHold;
  readonly contact: ControlPlaneContact;

  constructor(
    options: ControllerOptions,
    { dirty, id, listed, namespace, property }: LocalClusterEvents,
  ) {
    const { api, clock, config, events } = options;
    const follow = options.follow(api);
    const addresses = new TakenAddresses(config.clusterSetCidrs);
    const own = new LocalStores(
      config,
      {
        dirty,
        namespace,
        property,
        slices: (service) => this.hold.serviceChanged(service),
        taken: (object, ips) => addresses.take(object, ips),
        problems: (object, problems) => events.problems(undefined, object, problems),
        room: (query, keys) => this.informers.byResource[query].reflector.again(keys),
      },
      options.localBytes,
    );
    this.addresses = addresses;
    this.stores = own;
    this.nodes = new LocalNodes({
      ...{ config, clock, follow, dirty, events },
      ranges: () => this.ranges.compareSoon(),
    });
    const nodes = () => this.nodes.facts();
    this.ranges = new AddressRanges({ config, own, addresses, nodes, follow, events });
    this.hold = new ReadinessHold({
      clock,
      services: () => own.serviceSlices.groups(),
      // The readiness of other clusters' endpoints is not reported by this control plane.
      slicesOf: (service) =>
        own.serviceSlices.factsOf(service).filter((slice) => !isForeign(slice, id())),
      isHeadless: (service) => own.services.fact(service)?.service.properties?.headless ?? false,
      changed: (services) => {
        for (const service of services) own.exportChanged(service);
      },
      held: (unreadiness) => events.held(unreadiness),
      released: (unreadiness) => events.released(unreadiness),
    });
    this.contact = new ControlPlaneContact(clock, {
      lost: (reason) => {
        this.hold.lost();
        events.contactLost(reason);
      },
      regained: (ms) => {
        this.hold.regained();
        events.contactRegained(ms);
      },
    });
    this.informers = new LocalInformers(follow, own, {
      listed: () => {
        own.vipHolders.listed();
        listed();
      },
      state: (name, state) => {
        this.contact.state(name, state);
        events.connection(undefined, name, state);
      },
      controllers: (lease) => this.contact.controllers(lease),
    });
  }

  start(): void {
    this.informers.start();
    this.nodes.start();
    this.ranges.start();
  }

  /** This replica becomes the leader; `published`: the slices in its registry. */
  begin(published: Iterable<SliceFact>): void {
    this.ranges.compare();
    this.hold.begin(publishedAsReady(published));
  }

  async stop(): Promise<void> {
    this.contact.stop();
    this.hold.stop();
    await Promise.all([this.informers.stop(), this.nodes.stop(), this.ranges.stop()]);
  }
}
