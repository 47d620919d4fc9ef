import { isAddress, parseAddress } from "../../../api/address.ts";

/** The digits of canonical addresses. */
export function digitsOf(addresses: readonly string[]): string[] {
  return addresses.flatMap((text) => {
    const address = parseAddress(text);
    return isAddress(address) ? [address.hex] : [];
  });
}
