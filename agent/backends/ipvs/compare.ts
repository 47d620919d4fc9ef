import { addressFromHex, type Family } from "../../../api/address.ts";
import type { Cidr } from "../../../api/cidr.ts";
import type { Drift } from "../backend.ts";
import { tableOf } from "./guard.ts";
import {
  type Believed,
  isMarked,
  isOurs,
  type ServerKey,
  type StandingServer,
  serverName,
} from "./state.ts";

/** How much was looked at: everything, or no elements of sets, and of these servers only the destinations. */
export type Depth = "all" | ReadonlySet<ServerKey>;

/**
 * What somebody else did between two readings of which nothing of ours lies between. What was not looked at is taken to be
 * as it was. PURE.
 */
export function compare(
  before: Believed,
  found: Believed,
  family: Family,
  depth: Depth = "all",
): Drift[] {
  return [
    ...compareServers(before, found, family, depth),
    ...compareVips(before, found),
    ...compareGuard(before, found, family, depth),
    ...compareSettings(before, found),
  ];
}

/** Who it probably was, where the device of a kube-proxy in ipvs mode is there, and what keeps it from that. PURE. */
export function kubeProxySuspect({ text }: Cidr): string {
  return `kube-proxy in ipvs mode: its ipvs.excludeCIDRs must hold ${text}`;
}

/** The drift with that suspect, if a virtual server was deleted: kube-proxy in ipvs mode deletes what it does not know. PURE. */
export function suspected(drift: Drift, clusterSetCidr: Cidr): Drift {
  if (drift.reason !== "server-missing") return drift;
  return { ...drift, suspect: kubeProxySuspect(clusterSetCidr) };
}

function compareServers(before: Believed, found: Believed, family: Family, depth: Depth): Drift[] {
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

/** The kernel deletes no destination by itself, and one that we never gave it is somebody else's. */
function isAlike(before: StandingServer, now: StandingServer, whole: boolean): boolean {
  const [a, b] = [before.terms, now.terms];
  if (a.scheduler !== b.scheduler || a.flags !== b.flags || a.timeout !== b.timeout) return false;
  if (!whole) return true;
  const [were, are] = [before.destinations, now.destinations];
  const isKept = [...were].every(([key, { weight, plain }]) => {
    const found = are.get(key);
    return found?.weight === weight && (weight === 0 || found.plain === plain);
  });
  return isKept && [...are.keys()].every((key) => were.has(key));
}

function compareVips(before: Believed, found: Believed): Drift[] {
  const missing = [...before.vips].filter((vip) => !found.vips.has(vip));
  return missing.map((vip) => ({ reason: "vip-missing", what: addressFromHex(vip).text }));
}

function compareGuard(before: Believed, found: Believed, family: Family, depth: Depth): Drift[] {
  const what = `table ${tableOf(family)}`;
  if (before.rules.length === 0) return [];
  if (found.rules.length === 0) return [{ reason: "guard-missing", what }];
  const same = before.rules.join("\n") === found.rules.join("\n");
  if (!same || (depth === "all" && !sameSets(before, found))) {
    return [{ reason: "guard-changed", what }];
  }
  return [];
}

function sameSets({ sets: a }: Believed, { sets: b }: Believed): boolean {
  const alike = (one: ReadonlySet<string>, other: ReadonlySet<string>) =>
    one.size === other.size && [...one].every((each) => other.has(each));
  const served = [...a.served].every(([key, text]) => b.served.get(key) === text);
  const size = a.served.size === b.served.size;
  return served && size && alike(a.explicit, b.explicit) && alike(a.hairpins, b.hairpins);
}

function compareSettings(before: Believed, found: Believed): Drift[] {
  const known = new Set(before.wrong.map(({ name }) => name));
  const news = found.wrong.filter(({ name }) => !known.has(name));
  return news.map(({ name }) => ({ reason: "setting-changed", what: name }));
}

function serverText(key: ServerKey, family: Family): string {
  const { address, protocol, port } = serverName(key, family);
  return `${protocol} ${addressFromHex(address).text} ${port}`;
}
