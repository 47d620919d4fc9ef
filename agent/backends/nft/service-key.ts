import { isAddress, parseAddress } from "../../../api/address.ts";
import type { VirtualService } from "../../plan/virtual-service.ts";

/** VIP, protocol and port of a service of one family as one text: `f1000001 TCP 80`. */
export type ServiceKey = string;

/** Where a service answers. */
interface Place extends Pick<VirtualService, "protocol" | "port"> {
  readonly address: string;
}

/** The key of a VIP and port; `address`: its digits. */
export function serviceKey({ address, protocol, port }: Place): ServiceKey {
  return `${address} ${protocol} ${port}`;
}

/** The keys of a service: one for each of its VIPs. */
export function keysOf({ vips, protocol, port }: VirtualService): ServiceKey[] {
  return digitsOf(vips).map((address) => serviceKey({ address, protocol, port }));
}

/** The digits of canonical addresses. */
export function digitsOf(addresses: readonly string[]): string[] {
  return addresses.flatMap((text) => {
    const address = parseAddress(text);
    return isAddress(address) ? [address.hex] : [];
  });
}
