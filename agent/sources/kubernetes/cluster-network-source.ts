import { isDeepStrictEqual } from "node:util";
import { isAddress, parseAddress } from "../../../api/address.ts";
import type { Cidr } from "../../../api/cidr.ts";
import { field, listOf } from "../../../api/parse/fields.ts";
import type { Clock } from "../../../common/clock.ts";
import { ApiFault } from "../../../common/kubernetes/api-fault.ts";
import type { ApiServer } from "../../../common/kubernetes/api-server.ts";
import { listServed } from "../../../common/kubernetes/list-pages.ts";
import type { ResourceQuery } from "../../../common/kubernetes/resource.ts";
import type { Logger } from "../../../common/log.ts";
import { PeriodicRead } from "../../../common/periodic-read.ts";
import type { ClusterNetwork } from "../../model/facts.ts";
import { parseNode } from "../../model/parse-node.ts";
import type { Source, SourceEvents } from "../source.ts";
import { SERVICE_CIDRS, serviceRangesOf } from "./service-cidrs.ts";

/** All Nodes, not only that of the agent. */
const NODES: ResourceQuery = { group: "", versions: ["v1"], resource: "nodes" };
/** The API servers, as endpoints of the Service `kubernetes`, whose ClusterIP is in a Service range. */
const API_SERVERS: ResourceQuery = {
  group: "discovery.k8s.io",
  versions: ["v1"],
  resource: "endpointslices",
  namespace: "default",
  labelSelector: "kubernetes.io/service-name=kubernetes",
};

/** Milliseconds between two reads. Listed and not watched, because every Node's status changes all the time. */
const READ_EVERY_MS = 15 * 60_000;
/** The same after a failure. */
const RETRY_MS = 5_000;
/** Faults that last until an operator acts: this part of the network stays unknown, and nothing waits for it. */
const LASTING: ReadonlySet<string> = new Set(["forbidden", "not-served"]);

/** Options of a `ClusterNetworkSource`. */
export interface ClusterNetworkOptions {
  readonly api: ApiServer;
  readonly clock: Clock;
  readonly log: Pick<Logger, "warn" | "info">;
  /** The addresses of a host name; an address is its own. */
  readonly resolve: (host: string) => Promise<readonly string[]>;
}

/** Called with the Service ranges of the cluster. */
export type ServiceRangesChanged = (ranges: readonly Cidr[]) => void;

/**
 * The addresses and ranges that the cluster uses, where operators allow explicit VIPs: Service ranges, all Nodes with their
 * pod ranges, and the API servers. Without it no explicit VIP is written; after a fault the last state stays.
 */
export class ClusterNetworkSource implements Source {
  readonly name = "cluster-network";
  readonly #options: ClusterNetworkOptions;
  readonly #network: PeriodicRead<ClusterNetwork>;
  /** Resources that cannot be listed now, and a name that cannot be resolved; each was reported. */
  readonly #missing = new Set<string>();
  #serviceRanges: readonly Cidr[] | undefined;
  #serviceRangesChanged: ServiceRangesChanged = () => undefined;

  constructor(options: ClusterNetworkOptions) {
    const { clock, log } = options;
    this.#options = options;
    this.#network = new PeriodicRead({
      clock,
      every: READ_EVERY_MS,
      retry: RETRY_MS,
      read: (signal) => this.#read(signal),
      failed: (error) =>
        log.warn("Reading the cluster's addresses failed; using the last known ones", { error }),
      recovered: () => log.info("Reading the cluster's addresses succeeded again"),
    });
  }

  start(events: SourceEvents): void {
    this.#network.start((network, first) => {
      events.nodeObserved({ network }, this.#options.clock.now());
      if (first) events.listed();
    });
  }

  /** Reports the Service ranges of each list that differ, so that preflight does not list them, too. */
  followServiceRanges(changed: ServiceRangesChanged): void {
    this.#serviceRangesChanged = changed;
    if (this.#serviceRanges !== undefined) changed(this.#serviceRanges);
  }

  stop(): Promise<void> {
    return this.#network.stop();
  }

  async #read(signal: AbortSignal): Promise<ClusterNetwork> {
    const ranges = new Map<string, Cidr>();
    const addresses = new Set<string>();
    const addRanges = (some: readonly Cidr[]) => {
      for (const range of some) ranges.set(range.text, range);
    };
    const addAddress = (text: unknown) => {
      const address = typeof text === "string" ? parseAddress(text) : "invalid-address";
      if (isAddress(address)) addresses.add(address.text);
    };
    const serviceRanges: Cidr[] = [];
    const areListed = await this.#list(signal, SERVICE_CIDRS, (object) => {
      serviceRanges.push(...serviceRangesOf(object));
    });
    addRanges(serviceRanges);
    if (areListed) this.#setServiceRanges(serviceRanges);
    await this.#list(signal, NODES, (object) => {
      const { fact } = parseNode(object);
      addRanges(fact?.podCidrs ?? []);
      for (const text of fact?.addresses ?? []) addAddress(text);
    });
    await this.#list(signal, API_SERVERS, (object) => {
      for (const endpoint of listOf(field(object, "endpoints"))) {
        for (const text of listOf(field(endpoint, "addresses"))) addAddress(text);
      }
    });
    for (const text of await this.#apiHost()) addAddress(text);
    return { ranges: [...ranges.values()], addresses };
  }

  /** The addresses of the API server's name. Behind a proxy, which resolves the name itself, they may stay unknown. */
  async #apiHost(): Promise<readonly string[]> {
    const { api, resolve } = this.#options;
    const host = URL.parse(api.address)?.hostname.replace(/^\[|\]$/g, "") ?? "";
    try {
      const addresses = await resolve(host);
      this.#missing.delete(host);
      return addresses;
    } catch (error) {
      this.#leaveOut(host, error);
      return [];
    }
  }

  #setServiceRanges(ranges: readonly Cidr[]): void {
    if (isDeepStrictEqual(ranges, this.#serviceRanges)) return;
    this.#serviceRanges = ranges;
    this.#serviceRangesChanged(ranges);
  }

  /** False if the resource cannot be listed until an operator acts. */
  async #list(
    signal: AbortSignal,
    query: ResourceQuery,
    take: (object: unknown) => void,
  ): Promise<boolean> {
    const { api, clock } = this.#options;
    try {
      await listServed({ api, clock, signal }, query, take);
      this.#missing.delete(query.resource);
      return true;
    } catch (error) {
      if (!(error instanceof ApiFault) || !LASTING.has(error.reason)) throw error;
      this.#leaveOut(query.resource, error);
      return false;
    }
  }

  #leaveOut(what: string, error: unknown): void {
    if (!this.#missing.has(what)) {
      this.#options.log.warn("Explicit VIPs are not compared with this", { what, error });
    }
    this.#missing.add(what);
  }
}
