import { type ClustersSpec, PROXY_MODES, type ProxyMode } from "../../test/cluster/spec.ts";
import { programs, SCRATCH } from "../../test/lab/removal.ts";

/** Where the keeper of `make lab` listens: there is one at a time. */
export const SOCKET = `${SCRATCH}/keeper.sock`;

const NAME = "/demo/lab/keeper.ts";

/** The program: of these sources. */
export const KEEPER = `${import.meta.dirname}/keeper.ts`;

/** Messages of a keeper to the command that started it. */
export type KeeperNews =
  | { readonly ready: KeptClusters; readonly failed?: undefined }
  | { readonly failed: string; readonly ready?: undefined };

export interface KeptClusters {
  readonly kubeconfig: string;
  readonly contexts: readonly { readonly id: string; readonly region: string }[];
  readonly nodes: readonly string[];
}

/** The clusters that CLUSTERS, NODES, REGIONS and PROXY ask for. Throws on what cannot be. */
export function specOf(env: Readonly<Record<string, string | undefined>>): ClustersSpec {
  const {
    CLUSTERS = "3",
    NODES = "1",
    REGIONS = "eu-west eu-west us-east",
    PROXY = "iptables",
  } = env;
  return {
    clusters: Number(CLUSTERS),
    nodes: Number(NODES),
    regions: listOf(REGIONS),
    proxies: listOf(PROXY).map(proxyOf),
  };
}

function listOf(text: string): string[] {
  return text.split(/[\s,]+/).filter(Boolean);
}

function proxyOf(text: string): ProxyMode {
  const proxy = PROXY_MODES.find((mode) => mode === text);
  if (proxy === undefined) throw new Error(`PROXY=${text}: expected ${PROXY_MODES.join(" or ")}`);
  return proxy;
}

/** The pids of running keepers, of any source tree: there is one on a machine. */
export function keepers(): number[] {
  const found = programs().filter(({ argv }) => argv[1]?.endsWith(NAME));
  return found.map(({ pid }) => pid);
}
