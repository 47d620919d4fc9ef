import { addressFromHex } from "../../../api/address.ts";
import type { Cidr } from "../../../api/cidr.ts";
import type { Drift } from "../backend.ts";
import type { Held } from "../objects.ts";
import { BESIDE, GUARD, MISSING, RIGHT, SETTINGS_ID } from "./listing.ts";
import {
  isMarked,
  isSameTerms,
  type Port,
  type PortKey,
  parseVip,
  type Vip,
  type VirtualServer,
} from "./vip.ts";

/** A VIP, as it was held and as it was found. */
interface Compared {
  readonly hex: string;
  readonly before: Vip;
  readonly found: Vip;
}

/**
 * What other programs changed in these objects between two readings without a transaction of ours in between. `table`: the guard's; `suspect`: of deleted
 * servers. PURE.
 */
export function compare(
  ids: readonly string[],
  before: Held,
  found: Held,
  table: string,
  suspect: string | undefined,
): Drift[] {
  const vips = ids
    .filter((id) => id !== GUARD && id !== SETTINGS_ID)
    .map((hex): Compared => {
      const [was, is] = [before, found].map((held) => parseVip(held.get(hex)?.digest));
      return { hex, before: was as Vip, found: is as Vip };
    });
  return [
    ...vips
      .flatMap(serverDrift)
      .map((drift) =>
        drift.reason === "server-missing" && suspect !== undefined ? { ...drift, suspect } : drift,
      ),
    ...vips.flatMap(({ hex, before, found }): Drift[] => {
      const isGone = before.isOnDevice && !found.isOnDevice;
      return isGone ? [{ reason: "vip-missing", what: addressFromHex(hex).text }] : [];
    }),
    ...guardDrift([before, found].map(guardKind), vips, table),
    ...settingDrift(before, found),
  ];
}

/** The suspect on a node with the device of a kube-proxy in ipvs mode, and how to configure it. PURE. */
export function kubeProxySuspect(clusterSetCidrs: readonly Cidr[]): string {
  const ranges = clusterSetCidrs.map(({ text }) => text).join(" and ");
  return `kube-proxy in ipvs mode: its ipvs.excludeCIDRs must hold ${ranges}`;
}

function serverDrift({ hex, before, found }: Compared): Drift[] {
  return [...before.ports].flatMap(([key, port]): Drift[] => {
    const reason = portDrift(port, found.ports.get(key)?.server);
    return reason === undefined ? [] : [{ reason, what: serverText(hex, key) }];
  });
}

function portDrift(
  { owner, server, blocked }: Port,
  now: VirtualServer | undefined,
): Drift["reason"] | undefined {
  if (owner === "foreign") {
    const isFreed = now === undefined || isMarked(now.terms);
    return blocked !== undefined && isFreed ? "server-freed" : undefined;
  }
  if (owner === "far" || server === undefined) return undefined;
  if (now === undefined) return "server-missing";
  return isAlike(server, now) ? undefined : "server-changed";
}

/** The kernel deletes no destination by itself, so any difference was caused by another program. */
function isAlike(before: VirtualServer, now: VirtualServer): boolean {
  if (!isSameTerms(before.terms, now.terms)) return false;
  if (before.destinations.size !== now.destinations.size) return false;
  return before.destinations.entries().every(([key, { weight, isPlain }]) => {
    const found = now.destinations.get(key);
    return found?.weight === weight && (weight === 0 || found.isPlain === isPlain);
  });
}

/** `bound`, `unbound`, `broken` or `missing`. */
function guardKind(held: Held): string {
  return held.get(GUARD)?.digest.replace(BESIDE, "") ?? MISSING;
}

function guardDrift(
  [before, found]: readonly string[],
  vips: readonly Compared[],
  table: string,
): Drift[] {
  const what = `table ${table}`;
  if (before === MISSING) return [];
  if (found === MISSING) return [{ reason: "guard-missing", what }];
  const isSame = before === found && vips.every(({ before, found }) => isSameGuard(before, found));
  return isSame ? [] : [{ reason: "guard-changed", what }];
}

/** Whether the guard's sets have the same of a VIP. */
function isSameGuard(before: Vip, found: Vip): boolean {
  if (before.isExplicit !== found.isExplicit) return false;
  const keys = new Set<PortKey>([...before.ports.keys(), ...found.ports.keys()]);
  return keys
    .values()
    .every((key) => before.ports.get(key)?.served === found.ports.get(key)?.served);
}

function settingDrift(before: Held, found: Held): Drift[] {
  const [known, wrong] = [before, found].map((held) => {
    const { digest = RIGHT } = held.get(SETTINGS_ID) ?? {};
    return digest === RIGHT ? [] : digest.split(",");
  });
  const news = wrong?.filter((name) => !known?.includes(name)) ?? [];
  return news.map((what) => ({ reason: "setting-changed", what }));
}

function serverText(hex: string, key: PortKey): string {
  const [protocol, port] = key.split(" ");
  return `${protocol} ${addressFromHex(hex).text} ${port}`;
}
