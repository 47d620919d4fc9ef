import { addressFromHex } from "../../../api/address.ts";
import { destination, type VirtualService } from "../../plan/virtual-service.ts";
import type { Element } from "../../system/nftables/element.ts";
import type { HeldPort } from "../backend.ts";
import { digitsOf } from "../nft/digits.ts";
import { serviceKey } from "../nft/service-key.ts";
import { splitKey } from "./state.ts";

/** What these elements of `services` and `endpoints` are for some services. PURE. */
export function heldPorts(
  wanted: readonly VirtualService[],
  services: Iterable<Element | undefined>,
  endpoints: Iterable<Element | undefined>,
): HeldPort[] {
  const places = new Map(
    wanted.flatMap(({ vips, protocol, port }) =>
      digitsOf(vips).map((address) => {
        const place = { vip: addressFromHex(address).text, protocol, port };
        return [serviceKey({ address, protocol, port }), place] as const;
      }),
    ),
  );
  const slots = new Map<string, number>();
  for (const one of services) if (one && places.has(one.key)) slots.set(one.key, Number(one.value));
  const found = new Map<string, Set<string>>();
  for (const one of endpoints) {
    const [key] = splitKey(one?.key ?? "");
    if (one === undefined || !slots.has(key)) continue;
    const [address = "", port = ""] = one.value.split(" ");
    const text = destination(addressFromHex(address).text, Number(port));
    found.set(key, (found.get(key) ?? new Set()).add(text));
  }
  return [...slots].flatMap(([key, count]) => {
    const place = places.get(key);
    const destinations = count === 0 ? [] : [...(found.get(key) ?? [])].sort();
    return place === undefined ? [] : [{ ...place, destinations }];
  });
}
