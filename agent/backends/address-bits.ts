import { type Address, addressFromHex, type Family } from "../../api/address.ts";
import { widthOf } from "../../api/cidr.ts";

/** A mask with one bit of an address, and the values that the bit can have under this mask. */
export interface AddressBit {
  readonly mask: Address;
  readonly unset: Address;
}

/**
 * Every bit of an address. Rules that compare source and destination bit by bit find a pod that connects to itself without a list of pods: neither
 * iptables nor nft can compare two fields. The last bit comes first, because addresses of one network differ there.
 */
export function addressBits(family: Family): AddressBit[] {
  const digits = widthOf(family) / 4;
  const unset = addressFromHex("0".repeat(digits));
  return Array.from({ length: widthOf(family) }, (_, i) => {
    const hex = (1n << BigInt(i)).toString(16).padStart(digits, "0");
    return { mask: addressFromHex(hex), unset };
  });
}
