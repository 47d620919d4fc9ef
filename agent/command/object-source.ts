import { isAddress, parseAddress } from "../../api/address.ts";
import { systemClock } from "../../common/clock.ts";
import { connect } from "../../common/kubernetes/connect.ts";
import type { CredentialExpiry } from "../../common/kubernetes/credential-expiry.ts";
import { Reflector, type ReflectorState } from "../../common/kubernetes/reflector.ts";
import type { Logger } from "../../common/log.ts";
import { VERSION } from "../../common/version.ts";
import type { AgentConfig } from "../config/config.ts";
import {
  ClusterNetworkSource,
  type ServiceRangesChanged,
} from "../sources/kubernetes/cluster-network-source.ts";
import { KubernetesSource } from "../sources/kubernetes/kubernetes-source.ts";
import type { Resource } from "../sources/kubernetes/queries.ts";
import { serviceCidrs } from "../sources/kubernetes/service-cidrs.ts";
import { ManifestsSource } from "../sources/manifests/manifests-source.ts";
import type { FileError } from "../sources/manifests/mistake.ts";
import type { Source } from "../sources/source.ts";
import { hostAddresses } from "../system/addresses.ts";

/** A source of objects, and its state. */
export interface ObjectSource {
  /** Not started. */
  readonly sources: readonly Source[];
  /** A directory, or the URL of an API server. */
  readonly name: string;
  /** Addresses that the node needs to reach it. */
  readonly addresses: readonly string[];
  /** Files that cannot be parsed. */
  brokenFiles(): readonly FileError[];
  /** The watch of each resource; absent without an API server. */
  readonly states?: () => ReadonlyMap<Resource, ReflectorState>;
  /** When the credentials of the last request expire; absent without an API server. */
  readonly expiries?: () => readonly CredentialExpiry[];
  /** The number of objects of each resource. */
  sizes(): ReadonlyMap<Resource, number>;
  /** Starts reporting the Service ranges of the cluster; absent without an API server. Call it once. */
  readonly followServiceRanges?: (changed: ServiceRangesChanged) => void;
  /** Stops the source and its connections. */
  close(): Promise<void>;
}

/** Endpoints that are kept of a namespace, for each rule that it may have: an endpoint costs at least one, unless it is not used. */
const READ_ENDPOINTS = 2;

/**
 * Opens the configured source without starting it. Rejects with CSP_KUBECONFIG. `observe`: called when the watch of a
 * resource changes its state.
 */
export async function openObjectSource(
  config: AgentConfig,
  log: Logger,
  observe?: (resource: Resource, state: ReflectorState) => void,
): Promise<ObjectSource> {
  const clock = systemClock;
  const { objects, clusterSetCidrs, explicitVipCidrs, maxRulesPerNamespace, nodeName } = config;
  if (objects?.kind === "kubernetes") {
    const { kubeconfig } = objects;
    const userAgent = `clusterset-agent/${VERSION}`;
    const api = await connect({ log, userAgent, ...(kubeconfig !== undefined && { kubeconfig }) });
    const source = new KubernetesSource({
      follow: (query, events) =>
        new Reflector({ api, query, events, clock, random: Math.random, log }),
      nodeName,
      clusterSetCidrs,
      mostEndpoints: READ_ENDPOINTS * maxRulesPerNamespace,
      ...(observe && { observe }),
    });
    const ranges = serviceCidrs(api, clock);
    const network = new ClusterNetworkSource({ api, clock, log, resolve: hostAddresses });
    const isNetworkRead = explicitVipCidrs.length > 0;
    const sources = isNetworkRead ? [source, network] : [source];
    return {
      sources,
      name: api.address,
      addresses: addressOf(api.address),
      brokenFiles: () => [],
      states: () => source.states,
      expiries: () => api.expiries ?? [],
      sizes: () => source.sizes,
      followServiceRanges: (changed) =>
        isNetworkRead ? network.followServiceRanges(changed) : ranges.start(changed),
      close: async () => {
        await Promise.all([...sources, ranges].map((each) => each.stop()));
        await api.close();
      },
    };
  }
  const directory = objects?.directory ?? "";
  const source = new ManifestsSource({ directory, clock, log, clusterSetCidrs });
  return {
    sources: [source],
    name: directory,
    addresses: [],
    brokenFiles: () => source.brokenFiles(),
    sizes: () => new Map(),
    close: () => source.stop(),
  };
}

/** The address in a URL; none if it has a name. */
function addressOf(url: string): string[] {
  const host = URL.parse(url)?.hostname.replace(/^\[|\]$/g, "") ?? "";
  const address = parseAddress(host);
  return isAddress(address) ? [address.text] : [];
}
