import { addressFromHex, type Family } from "../../../api/address.ts";
import { digitsOf, type VirtualService } from "../../plan/virtual-service.ts";
import { VIP_DEVICE } from "../../system/addresses.ts";
import { IpvsTable } from "../../system/ipvs/ipvs-table.ts";
import type { ListedDestination, Server } from "../../system/ipvs/object.ts";
import { DummyDevice } from "../../system/link/dummy-device.ts";
import { listTable } from "../../system/nft-table.ts";
import { allRules } from "../../system/nftables/listing.ts";
import { readSysctl } from "../../system/sysctl.ts";
import type { DestinationCount } from "../backend.ts";
import type { GuardOptions } from "./guard.ts";
import { KUBE_PROXY_DEVICE } from "./kube-proxy.ts";
import { type GuardListing, isOurAddress, type Listing, setsOf } from "./listing.ts";
import { hooksIn, noSets, tablesOf } from "./nft-tables.ts";
import { isRight, releaseOf, SETTINGS, type Setting } from "./settings.ts";
import { destinationKey, destinationText, isMarked } from "./vip.ts";

/** The device with the VIPs. */
export const vipDevice = new DummyDevice(VIP_DEVICE);

/**
 * All virtual servers of the family, foreign ones included, because one may be in the place of ours; if `deep`, with the destinations of those with our mark or
 * on our addresses. Rejects as `IpvsTable` does.
 */
export async function readServers(
  options: GuardOptions,
  addresses: Pick<Listing, "onDevice" | "sets">,
  deep: boolean,
  stop?: AbortSignal,
): Promise<Map<Server, ListedDestination[] | undefined>> {
  const table = new IpvsTable();
  const isRead = (one: Server) => isMarked(one) || isOurAddress(options, addresses, one.address);
  const servers = (await table.servers()).filter((one) => one.family === options.family);
  const read = deep ? await table.destinations(servers.filter(isRead), stop) : new Map();
  return new Map(servers.map((server) => [server, read.get(server) ?? (deep ? [] : undefined)]));
}

/**
 * Reads our tables. `elements`: whether to read the elements of sets, too. Without the guard there are no rules. Rejects as
 * `listTable` does.
 */
export async function listGuard(
  family: Family,
  elements: "elements" | "rules",
  stop?: AbortSignal,
): Promise<GuardListing & { readonly tables: readonly string[] }> {
  const names = tablesOf(family);
  const terse = elements === "rules";
  const [guard, arp] = await Promise.all(names.map((name) => listTable(name, terse, stop)));
  const tables = names.filter((_, i) => [guard, arp][i] !== undefined);
  if (guard === undefined) return { sets: noSets(), rules: [], tables };
  const sets = setsOf(guard);
  const [guardRules = [], arpRules = []] = [guard, arp].map(
    (one, i) => one && allRules(one, hooksIn(names[i] ?? "", family)),
  );
  if (arp === undefined) return { sets, rules: guardRules, tables };
  const rules = [...guardRules, ...arpRules];
  // Both are written together, so a difference means that another program changed one.
  const differs = setsOf(arp).explicit.symmetricDifference(sets.explicit).size > 0;
  return { sets, rules: differs ? [...rules, ""] : rules, tables };
}

/** Whether the device for the VIPs of a kube-proxy in ipvs mode exists. */
export async function isBesideKubeProxy(): Promise<boolean> {
  return (await new DummyDevice(KUBE_PROXY_DEVICE).find()) !== undefined;
}

/** The kernel's counters for these services. Rejects as `IpvsTable.destinations` does. */
export async function readCounts(
  family: Family,
  services: readonly VirtualService[],
  stop?: AbortSignal,
): Promise<DestinationCount[]> {
  const names = services.flatMap(({ vips, protocol, port }) =>
    digitsOf(vips).map((address) => ({ family, protocol, address, port })),
  );
  const found = await new IpvsTable().destinations(names, stop);
  return [...found].flatMap(([{ address: vip, protocol, port }, destinations]) =>
    destinations.map(({ weight, active, inactive, total, ...one }) => ({
      vip: addressFromHex(vip).text,
      ...{ protocol, port, destination: destinationText(destinationKey(one)), weight },
      ...{ active, inactive, total: Number(total) },
    })),
  );
}

/** Sysctls that have the wrong value. */
export async function wrongSettings(
  read: (name: string) => Promise<string | undefined> = readSysctl,
): Promise<Setting[]> {
  const release = releaseOf(await read("kernel.osrelease"));
  const values = await Promise.all(SETTINGS.map(({ name }) => read(name)));
  return SETTINGS.filter((setting, i) => !isRight(setting, values[i], release));
}
