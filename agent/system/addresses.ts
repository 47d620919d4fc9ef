import { lookup } from "node:dns/promises";
import { networkInterfaces } from "node:os";

/** Our device, which holds the VIPs where they must be local (IPVS). */
export const VIP_DEVICE = "csp-ipvs0";
/**
 * Devices with addresses of Services: ours, kube-proxy's in ipvs mode, and kube-router's. They are not the node's addresses: who may create a Service chooses
 * `spec.externalIPs` and, with some clouds, `spec.loadBalancerIP`.
 */
const SERVICE_DEVICES: ReadonlySet<string> = new Set([VIP_DEVICE, "kube-ipvs0", "kube-dummy-if"]);

/** Whether this network namespace has an interface of this name with an address. Does not need netlink. */
export function hasInterface(name: string): boolean {
  return name in networkInterfaces();
}

/** An address, and the same with its prefix. */
interface InterfaceAddress {
  readonly address: string;
  /** Null if the kernel's netmask is not one. */
  readonly cidr: string | null;
}

/** The addresses of all interfaces in this network namespace except `SERVICE_DEVICES`, with their prefix: `192.0.2.7/24`. */
export function interfaceAddresses(
  interfaces: Readonly<NodeJS.Dict<readonly InterfaceAddress[]>> = networkInterfaces(),
): string[] {
  return Object.entries(interfaces).flatMap(([name, list]) =>
    SERVICE_DEVICES.has(name) ? [] : (list ?? []).map(({ address, cidr }) => cidr ?? address),
  );
}

/** The addresses of a host name. Rejects if it cannot be resolved. */
export async function hostAddresses(host: string): Promise<string[]> {
  return (await lookup(host, { all: true })).map(({ address }) => address);
}
