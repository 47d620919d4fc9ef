import { type Address, isAddress, parseAddress } from "../../api/address.ts";
import { type Cidr, containsAny, ofFamily } from "../../api/cidr.ts";
import { objectKey } from "../../api/names.ts";
import { fieldAt } from "../../api/parse/fields.ts";
import { allocate } from "../../controller/allocate/allocate.ts";
import type { AddressRules, FoundObject } from "./found.ts";

/**
 * Chooses as the controller does: by a hash, so that clusters with the same range mostly choose the same address. `held`:
 * IPAddresses. PURE.
 */
export function addressRules(
  cidrs: readonly Cidr[],
  imports: readonly FoundObject[],
  held: readonly FoundObject[],
): AddressRules {
  const listed = imports.flatMap(({ raw }) => fieldAt(raw, "spec", "ips") ?? []);
  const taken = new Set([...listed, ...held.map(({ name }) => name)].map(String));
  const parsed = (text: string): Address | undefined => {
    const address = parseAddress(text);
    return isAddress(address) ? address : undefined;
  };
  return {
    isOurs: (text) => {
      const address = parsed(text);
      return address !== undefined && containsAny(cidrs, address);
    },
    choose: (namespace, name, like) => {
      const family = parsed(like)?.family;
      if (family === undefined) return undefined;
      const [cidr] = ofFamily(cidrs, family);
      const vip = cidr && allocate(objectKey(namespace, name), family, cidr, taken, []);
      if (vip === undefined || vip === "exhausted") return undefined;
      taken.add(vip.text);
      return vip.text;
    },
  };
}
