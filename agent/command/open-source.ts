import { isAddress, parseAddress } from "../../api/address.ts";
import { systemClock } from "../../common/clock.ts";
import { connect } from "../../common/kubernetes/connect.ts";
import { Reflector, type ReflectorState } from "../../common/kubernetes/reflector.ts";
import type { Logger } from "../../common/log.ts";
import { VERSION } from "../../common/version.ts";
import type { AgentConfig } from "../config/config.ts";
import type { ToldServiceCidrs } from "../preflight/preflight.ts";
import { KubernetesSource } from "../sources/kubernetes/kubernetes-source.ts";
import type { Resource } from "../sources/kubernetes/queries.ts";
import { ServiceCidrs } from "../sources/kubernetes/service-cidrs.ts";
import { ManifestsSource } from "../sources/manifests/manifests-source.ts";
import type { Source } from "../sources/source.ts";

/** Where objects come from, and how it fares. */
export interface OpenSource {
  readonly source: Source;
  /** For people: a directory, or the URL of an API server. */
  readonly name: string;
  /** Addresses that the node needs to read from there. */
  readonly addresses: readonly string[];
  /** Files that cannot be taken as they are. */
  brokenFiles(): readonly { readonly file: string; readonly detail: string }[];
  /** How the connection for each resource of an API server is. */
  readonly states?: () => ReadonlyMap<Resource, ReflectorState>;
  /** Objects of each resource. */
  sizes(): ReadonlyMap<Resource, number>;
  /** Service ranges of the cluster, as far as it has told of them; asks for them, now and then. */
  readonly serviceCidrs: ToldServiceCidrs;
  /** Ends the source, if it was started, and what it was read through. */
  close(): Promise<void>;
}

/** Told how the connection for a resource is from now on. */
export type ObserveConnection = (resource: Resource, state: ReflectorState) => void;

/** Opens what the configuration names, and starts nothing. Throws CSP_KUBECONFIG. */
export async function openSource(
  config: AgentConfig,
  log: Logger,
  observe?: ObserveConnection,
): Promise<OpenSource> {
  const clock = systemClock;
  const { objects, clusterSetCidrs, nodeName } = config;
  if (objects?.kind === "kubernetes") {
    const { kubeconfig } = objects;
    const userAgent = `clusterset-agent/${VERSION}`;
    const api = await connect({ log, userAgent, ...(kubeconfig !== undefined && { kubeconfig }) });
    const source = new KubernetesSource({
      follow: (query, events) =>
        new Reflector({ api, query, events, clock, random: Math.random, log }),
      nodeName,
      clusterSetCidrs,
      ...(observe && { observe }),
    });
    const serviceCidrs = new ServiceCidrs({ api, clock });
    return {
      source,
      name: api.address,
      addresses: addressOf(api.address),
      brokenFiles: () => [],
      states: () => source.states,
      sizes: () => source.sizes,
      serviceCidrs: (hurry) => serviceCidrs.latest(hurry),
      close: async () => {
        await Promise.all([source.stop(), serviceCidrs.stop()]);
        await api.close();
      },
    };
  }
  const directory = objects?.directory ?? "";
  const source = new ManifestsSource({ directory, clock, log, clusterSetCidrs });
  return {
    source,
    name: directory,
    addresses: [],
    brokenFiles: () => source.brokenFiles(),
    sizes: () => new Map(),
    serviceCidrs: async () => [],
    close: () => source.stop(),
  };
}

/** The address in a URL, if it holds one rather than a name. */
function addressOf(url: string): string[] {
  const host = URL.parse(url)?.hostname.replace(/^\[|\]$/g, "") ?? "";
  const address = parseAddress(host);
  return isAddress(address) ? [address.text] : [];
}
