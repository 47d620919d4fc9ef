import { addressFromHex, type Family } from "../../../api/address.ts";
import type { Cidr } from "../../../api/cidr.ts";
import type { Drift } from "../backend.ts";
import type { ServiceKey } from "../nft/service-key.ts";
import type { GuardOptions } from "./guard.ts";
import { guardTable } from "./nft-tables.ts";
import {
  type Depth,
  isMarked,
  isOurs,
  type KernelServer,
  type KernelState,
  sameTerms,
  serverName,
} from "./state.ts";

/**
 * What other programs changed between two reads without a transaction of ours in between, with kube-proxy as the suspect of deleted
 * servers if it is on the node. What was not read counts as unchanged. PURE.
 */
export function compare(
  before: KernelState,
  found: KernelState,
  { family, clusterSetCidrs }: Pick<GuardOptions, "family" | "clusterSetCidrs">,
  depth: Depth = "all",
): Drift[] {
  const suspect = found.kubeProxy && { suspect: kubeProxySuspect(clusterSetCidrs) };
  return [
    ...compareServers(before, found, family, depth).map((drift) =>
      drift.reason === "server-missing" ? { ...drift, ...suspect } : drift,
    ),
    ...compareVips(before, found),
    ...compareGuard(before, found, family),
    ...compareSettings(before, found),
  ];
}

/** The suspect on a node with the device of a kube-proxy in ipvs mode, and how to configure it. PURE. */
export function kubeProxySuspect(clusterSetCidrs: readonly Cidr[]): string {
  const ranges = clusterSetCidrs.map(({ text }) => text).join(" and ");
  return `kube-proxy in ipvs mode: its ipvs.excludeCIDRs must hold ${ranges}`;
}

function compareServers(
  before: KernelState,
  found: KernelState,
  family: Family,
  depth: Depth,
): Drift[] {
  const drift: Drift[] = [];
  for (const [key, server] of before.servers) {
    if (!isOurs(before, key) || server.far) continue;
    const now = found.servers.get(key);
    const what = serverText(key, family);
    if (now === undefined) drift.push({ reason: "server-missing", what });
    else if (!isAlike(server, now, depth === "all" || depth.has(key)))
      drift.push({ reason: "server-changed", what });
  }
  for (const key of before.blocked.keys()) {
    const now = found.servers.get(key);
    if (now === undefined || isMarked(now.terms))
      drift.push({ reason: "server-freed", what: serverText(key, family) });
  }
  return drift;
}

/** The kernel deletes no destination by itself, so any difference was caused by another program. */
function isAlike(before: KernelServer, now: KernelServer, whole: boolean): boolean {
  if (!sameTerms(before.terms, now.terms)) return false;
  if (!whole) return true;
  const [were, are] = [before.destinations, now.destinations];
  const isKept = [...were].every(([key, { weight, plain }]) => {
    const found = are.get(key);
    return found?.weight === weight && (weight === 0 || found.plain === plain);
  });
  return isKept && [...are.keys()].every((key) => were.has(key));
}

function compareVips(before: KernelState, found: KernelState): Drift[] {
  const missing = [...before.vips].filter((vip) => !found.vips.has(vip));
  return missing.map((vip) => ({ reason: "vip-missing", what: addressFromHex(vip).text }));
}

function compareGuard(before: KernelState, found: KernelState, family: Family): Drift[] {
  const what = `table ${guardTable(family)}`;
  if (before.rules.length === 0) return [];
  if (found.rules.length === 0) return [{ reason: "guard-missing", what }];
  const same = before.rules.join("\n") === found.rules.join("\n");
  return same && sameSets(before, found) ? [] : [{ reason: "guard-changed", what }];
}

function sameSets({ sets: a }: KernelState, { sets: b }: KernelState): boolean {
  const alike = (one: ReadonlySet<string>, other: ReadonlySet<string>) =>
    one.symmetricDifference(other).size === 0;
  const served = [...a.served].every(([key, text]) => b.served.get(key) === text);
  const size = a.served.size === b.served.size;
  return served && size && alike(a.explicit, b.explicit);
}

function compareSettings(before: KernelState, found: KernelState): Drift[] {
  const known = new Set(before.wrong.map(({ name }) => name));
  const news = found.wrong.filter(({ name }) => !known.has(name));
  return news.map(({ name }) => ({ reason: "setting-changed", what: name }));
}

function serverText(key: ServiceKey, family: Family): string {
  const { address, protocol, port } = serverName(key, family);
  return `${protocol} ${addressFromHex(address).text} ${port}`;
}
