import { networkInterfaces } from "node:os";

/** Our own device, which has the VIPs where the kernel wants them to be the node's: not addresses that it has for itself. */
export const VIP_DEVICE = "csp-ipvs0";

/** Whether this network namespace has an interface of this name that has an address, as far as can be told without netlink. */
export function hasInterface(name: string): boolean {
  return name in networkInterfaces();
}

/** The addresses of this network namespace's interfaces, as the kernel spells them; those of `VIP_DEVICE` left out. */
export function interfaceAddresses(
  interfaces: Readonly<NodeJS.Dict<readonly { readonly address: string }[]>> = networkInterfaces(),
): string[] {
  return Object.entries(interfaces).flatMap(([name, list]) =>
    name === VIP_DEVICE ? [] : (list ?? []).map(({ address }) => address),
  );
}
