import { addressFromHex, type Family } from "../../../api/address.ts";
import { type Cidr, contains } from "../../../api/cidr.ts";
import { isLabelName, type ObjectKey, objectKey } from "../../../api/names.ts";
import type { VirtualService } from "../../plan/virtual-service.ts";
import { VIP_DEVICE } from "../../system/addresses.ts";
import { IpvsTable } from "../../system/ipvs/ipvs-table.ts";
import type {
  StandingDestination as CountedDestination,
  Server,
} from "../../system/ipvs/object.ts";
import { DummyDevice } from "../../system/link/dummy-device.ts";
import { readSetting } from "../../system/setting.ts";
import type { DestinationCount } from "../backend.ts";
import { KUBE_PROXY_DEVICE } from "./kube-proxy.ts";
import { type GuardListing, listGuard } from "./list.ts";
import { isRight, releaseOf, SETTINGS, type Setting } from "./settings.ts";
import {
  type Believed,
  type DestinationKey,
  destinationKey,
  destinationOf,
  destinationText,
  digitsOf,
  isMarked,
  nothing,
  type ServerKey,
  type StandingDestination,
  type StandingServer,
  serverKey,
  serverName,
} from "./state.ts";

/** The device that has the VIPs. */
export const DEVICE = VIP_DEVICE;

/**
 * Reads back all of ours. A virtual server is on an address of ours if that lies in the ClusterSet CIDR, is on our device, or
 * is known to the guard: it is there before its address, and after a device that was deleted. Whether it is ours, its
 * mark tells (`isOurs`). All others are named, too: one of them may stand where an import's has to. Rejects as `IpvsTable`,
 * `DummyDevice` and `listGuard` do.
 */
export async function readBack(
  family: Family,
  clusterSetCidr: Cidr,
  stop?: AbortSignal,
): Promise<Believed> {
  const believed = nothing();
  believed.wrong = await wrongSettings();
  believed.kubeProxy = await isBesideKubeProxy();
  const guard = await listGuard(family, "elements", stop);
  if (guard !== undefined) take(believed, guard);
  const vips = new Set((await new DummyDevice(DEVICE).addresses(family)).filter(isVip));
  for (const vip of vips) believed.vips.add(vip);
  const table = new IpvsTable();
  const own = new Set([...vips, ...believed.sets.explicit]);
  const isNear = ({ address }: Server) =>
    own.has(address) || contains(clusterSetCidr, { family, text: "", hex: address });
  const servers = await serversOf(table, family);
  const looked = await table.destinations(
    servers.filter((one) => isNear(one) || isMarked(one)),
    stop,
  );
  for (const server of servers) {
    const { scheduler, flags, timeout } = server;
    believed.servers.set(serverKey(server), {
      terms: { scheduler, flags, timeout },
      destinations: destinationsOf(looked.get(server) ?? []),
      ...(!isNear(server) && { far: true }),
    });
  }
  return believed;
}

/** Whether the device is there on which a kube-proxy in ipvs mode keeps its VIPs. */
export async function isBesideKubeProxy(): Promise<boolean> {
  return (await new DummyDevice(KUBE_PROXY_DEVICE).find()) !== undefined;
}

/**
 * Looks again at servers with destinations that we drain, and notes in `believed` which of these are idle now. What the
 * kernel says of all others there is not ours to believe: it is somebody else's doing, and found when all is compared.
 */
export async function lookForConnections(
  family: Family,
  believed: Believed,
  stop?: AbortSignal,
): Promise<void> {
  const draining = [...believed.servers].flatMap(([key, { destinations }]) =>
    [...destinations.values()].some(({ weight }) => weight === 0) ? [key] : [],
  );
  for (const [key, found] of await readDestinations(draining, family, stop)) {
    const before = believed.servers.get(key);
    if (before !== undefined) believed.servers.set(key, drained(before, found));
  }
}

/**
 * The server as it was, and of those that we drain, which have no connection left: who is gone has none, and who was given
 * a weight by somebody else is not looked at. PURE.
 */
export function drained(
  before: StandingServer,
  found: ReadonlyMap<DestinationKey, StandingDestination>,
): StandingServer {
  const destinations = [...before.destinations].map(([key, one]) => {
    if (one.weight !== 0) return [key, one] as const;
    return [key, { ...one, idle: found.get(key)?.idle ?? true }] as const;
  });
  return { ...before, destinations: new Map(destinations) };
}

/** The destinations of these servers; none of one that is gone. Rejects as `IpvsTable.destinations` does. */
export async function readDestinations(
  servers: readonly ServerKey[],
  family: Family,
  stop?: AbortSignal,
): Promise<Map<ServerKey, Map<DestinationKey, StandingDestination>>> {
  if (servers.length === 0) return new Map();
  const names = servers.map((key) => serverName(key, family));
  const found = await new IpvsTable().destinations(names, stop);
  return new Map([...found].map(([name, some]) => [serverKey(name), destinationsOf(some)]));
}

/** What the kernel counts for these services. Rejects as `IpvsTable.destinations` does. */
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

function destinationsOf(
  found: readonly CountedDestination[],
): Map<DestinationKey, StandingDestination> {
  return new Map(
    found.map(({ weight, plain, active, inactive, ...rest }) => {
      const idle = weight === 0 && active + inactive === 0;
      return [destinationKey(rest), { weight, plain, idle }];
    }),
  );
}

/** Switches that are not as they should be, now. */
export async function wrongSettings(
  read: (name: string) => Promise<string | undefined> = readSetting,
): Promise<Setting[]> {
  const release = releaseOf(await read("kernel.osrelease"));
  const values = await Promise.all(SETTINGS.map(({ name }) => read(name)));
  return SETTINGS.filter((setting, i) => !isRight(setting, values[i], release));
}

/** False for the link-local address that the kernel gives each device. */
export function isVip(address: string): boolean {
  return address.length === 8 || !/^fe[89ab]/.test(address);
}

/** All virtual servers of a family, whoever made them. */
export async function serversOf(table: IpvsTable, family: Family): Promise<Server[]> {
  return (await table.servers()).filter((one) => one.family === family);
}

function take(believed: Believed, { sets, rules }: GuardListing): void {
  for (const [key, value] of sets.served) believed.sets.served.set(key, value);
  for (const vip of sets.explicit) believed.sets.explicit.add(vip);
  for (const address of sets.hairpins) believed.sets.hairpins.add(address);
  believed.rules = rules;
}

/** The services that take new connections, as far as the kernel tells. PURE. */
export function servicesOf({ servers, sets }: Believed, family: Family): VirtualService[] {
  const found = new Map<string, VirtualService & { readonly vips: string[] }>();
  for (const [key, text] of sets.served) {
    const importKey = importOf(text);
    const standing = servers.get(key);
    if (importKey === undefined || standing === undefined) continue;
    const { address, protocol, port } = serverName(key, family);
    const id = `${text} ${protocol} ${port}`;
    const vip = addressFromHex(address).text;
    const before = found.get(id);
    if (before !== undefined) {
      before.vips.push(vip);
      continue;
    }
    const endpoints = [...standing.destinations.keys()]
      .map((one) => destinationOf(one, 0))
      .filter((one) => sets.hairpins.has(one.address))
      .map((one) => ({
        address: addressFromHex(one.address).text,
        port: one.port,
        maybeHere: true,
      }));
    found.set(id, {
      ...{ importKey, portName: "", protocol, port, family, vips: [vip], endpoints },
      reason: "nearest-ready",
    });
  }
  return [...found.values()];
}

/** Of how many services servers take new connections. PURE. */
export function countServices({ servers, sets }: Believed): number {
  const found = new Set<string>();
  for (const [key, text] of sets.served) {
    if (servers.has(key) && importOf(text) !== undefined) found.add(serviceId(text, key));
  }
  return found.size;
}

function serviceId(text: string, key: ServerKey): string {
  return `${text} ${key.slice(key.indexOf(" ") + 1)}`;
}

function importOf(text: string): ObjectKey | undefined {
  const [namespace = "", name = "", ...rest] = text.split("/");
  if (rest.length > 0 || !isLabelName(namespace) || !isLabelName(name)) return undefined;
  return objectKey(namespace, name);
}
