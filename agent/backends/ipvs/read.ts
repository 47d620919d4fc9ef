import { addressFromHex, type Family } from "../../../api/address.ts";
import { type Cidr, containsAny } from "../../../api/cidr.ts";
import type { VirtualService } from "../../plan/virtual-service.ts";
import { VIP_DEVICE } from "../../system/addresses.ts";
import { IpvsTable } from "../../system/ipvs/ipvs-table.ts";
import type { ListedDestination, Server } from "../../system/ipvs/object.ts";
import { DummyDevice } from "../../system/link/dummy-device.ts";
import { readSysctl } from "../../system/sysctl.ts";
import type { DestinationCount } from "../backend.ts";
import { digitsOf, type ServiceKey, serviceKey } from "../nft/service-key.ts";
import { KUBE_PROXY_DEVICE } from "./kube-proxy.ts";
import type { GuardListing } from "./list.ts";
import { isRight, releaseOf, SETTINGS, type Setting } from "./settings.ts";
import {
  type Depth,
  type DestinationKey,
  destinationKey,
  destinationText,
  isMarked,
  type KernelDestination,
  type KernelState,
  nothing,
  serverName,
} from "./state.ts";

/** The device with the VIPs. */
export const vipDevice = new DummyDevice(VIP_DEVICE);

/**
 * Reads back everything of ours, and all foreign virtual servers, because one may be in the place of ours (`isOurs`). An address
 * is ours if it is in a ClusterSet CIDR, on our device or in the guard, which has it before the device does. `guard`: our tables.
 * Rejects as `IpvsTable` and `DummyDevice` do, and with the signal's reason.
 */
export async function readBack(
  family: Family,
  clusterSetCidrs: readonly Cidr[],
  { sets, rules }: Pick<GuardListing, "sets" | "rules">,
  depth: Depth,
  stop?: AbortSignal,
): Promise<KernelState> {
  const vips = new Set(await vipDevice.addresses(family));
  const table = new IpvsTable();
  const isNear = ({ address }: Server) =>
    vips.has(address) ||
    sets.explicit.has(address) ||
    containsAny(clusterSetCidrs, { family, text: "", hex: address });
  const isRead = (one: Server) =>
    depth === "all" ? isNear(one) || isMarked(one) : depth.has(serviceKey(one));
  const servers = (await table.servers()).filter((one) => one.family === family);
  const read = await table.destinations(servers.filter(isRead), stop);
  const [wrong, kubeProxy] = [await wrongSettings(), await isBesideKubeProxy()];
  stop?.throwIfAborted();
  const state: KernelState = { ...nothing(), wrong, kubeProxy, sets, rules, vips };
  for (const server of servers) {
    const { scheduler, flags, timeout } = server;
    state.servers.set(serviceKey(server), {
      terms: { scheduler, flags, timeout },
      destinations: destinationsOf(read.get(server) ?? []),
      ...(!isNear(server) && { far: true }),
    });
  }
  return state;
}

/** Whether the device for the VIPs of a kube-proxy in ipvs mode exists. */
export async function isBesideKubeProxy(): Promise<boolean> {
  return (await new DummyDevice(KUBE_PROXY_DEVICE).find()) !== undefined;
}

/** The destinations of these servers; none of a deleted one. Rejects as `IpvsTable.destinations` does. */
export async function readDestinations(
  servers: readonly ServiceKey[],
  family: Family,
  stop?: AbortSignal,
): Promise<Map<ServiceKey, Map<DestinationKey, KernelDestination>>> {
  if (servers.length === 0) return new Map();
  const names = servers.map((key) => serverName(key, family));
  const found = await new IpvsTable().destinations(names, stop);
  return new Map([...found].map(([name, some]) => [serviceKey(name), destinationsOf(some)]));
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

function destinationsOf(
  found: readonly ListedDestination[],
): Map<DestinationKey, KernelDestination> {
  return new Map(
    found.map(({ weight, plain, active, inactive, ...rest }) => {
      const idle = weight === 0 && active + inactive === 0;
      return [destinationKey(rest), { weight, plain, idle }];
    }),
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
