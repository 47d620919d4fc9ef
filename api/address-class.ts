import type { Address } from "./address.ts";
import type { Reason } from "./reasons.ts";

/** Classes of addresses that can be neither an endpoint nor a ClusterSetIP on any node. */
export type AddressClass = Extract<
  Reason,
  "loopback-address" | "link-local-address" | "multicast-address" | "unspecified-address"
>;

/** The class of an unusable address, or undefined. 240.0.0.0/4 is usable: it is reserved, but Linux routes it. */
export function classOf(address: Address): AddressClass | undefined {
  return address.family === "IPv4" ? classOfV4(address.hex) : classOfV6(address.hex);
}

/** RFC 6890 for the special ranges; RFC 1122 3.2.1.3 for 0.0.0.0/8. */
function classOfV4(hex: string): AddressClass | undefined {
  if (hex.startsWith("00")) return "unspecified-address";
  if (hex.startsWith("7f")) return "loopback-address";
  if (hex.startsWith("a9fe")) return "link-local-address";
  if (hex.startsWith("e") || hex === "ffffffff") return "multicast-address";
  return undefined;
}

/** RFC 4291 2.4; fe80::/10 ends at febf. */
function classOfV6(hex: string): AddressClass | undefined {
  if (/^0{32}$/.test(hex)) return "unspecified-address";
  if (/^0{31}1$/.test(hex)) return "loopback-address";
  if (/^fe[89ab]/.test(hex)) return "link-local-address";
  if (hex.startsWith("ff")) return "multicast-address";
  return undefined;
}
