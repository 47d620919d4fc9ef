import { isAddress, parseAddress } from "../../../api/address.ts";
import { containsAny } from "../../../api/cidr.ts";
import { isProtocol } from "../../../api/protocol.ts";
import { serviceKey } from "../../plan/virtual-service.ts";
import type { ListedDestination, Server } from "../../system/ipvs/object.ts";
import type { NftElement, NftTable } from "../../system/nftables/listing.ts";
import type { Held } from "../objects.ts";
import { type GuardOptions, isBound } from "./guard.ts";
import { type GuardSets, marksOf, noSets } from "./nft-tables.ts";
import type { Setting } from "./settings.ts";
import {
  destinationKey,
  type HeldDestination,
  isImportKey,
  isMarked,
  NO_VIP,
  type Port,
  type PortKey,
  parseVip,
  portKey,
  UNNAMED,
  type Vip,
  vipText,
} from "./vip.ts";

/** The objects besides VIPs: our nftables tables, and the sysctls that the backend sets. */
export const GUARD = "guard";
export const SETTINGS_ID = "settings";

/**
 * Digests of the guard: its rules keep other programs from translating VIPs, or not, as long as rules of another backend of ours may do so; they are
 * not as they should be; there are none. Followed by `BESIDE` if such rules were in place when it was read.
 */
export const BOUND = "bound";
export const UNBOUND = "unbound";
export const BROKEN = "broken";
export const MISSING = "missing";
export const BESIDE = " beside";

/** The digest of sysctls that are right; else, the names of the others. */
export const RIGHT = "right";

/** Our tables of one family. */
export interface GuardListing {
  readonly sets: GuardSets;
  /** The comments of all rules in their order; a rule without one, or what no rule shows, is an empty text. */
  readonly rules: readonly string[];
}

/** What the kernel shows of one family. */
export interface Listing {
  /** All virtual servers, and the destinations of each that were read. */
  readonly servers: ReadonlyMap<Server, readonly ListedDestination[] | undefined>;
  /** Addresses of our device. */
  readonly onDevice: ReadonlySet<string>;
  readonly sets: GuardSets;
  /** The digest of the guard. */
  readonly guard: string;
  /** Sysctls that have the wrong value. */
  readonly wrong: readonly Setting[];
}

/** Whether an address is ours: it is in a ClusterSet CIDR, on our device or in the guard, which has it before the device does. PURE. */
export function isOurAddress(
  { family, clusterSetCidrs }: GuardOptions,
  { onDevice, sets }: Pick<Listing, "onDevice" | "sets">,
  hex: string,
): boolean {
  const isKnown = onDevice.has(hex) || sets.explicit.has(hex);
  return isKnown || containsAny(clusterSetCidrs, { family, text: "", hex });
}

/** The objects that a listing shows; destinations that were not read are those that were `held` before. PURE. */
export function heldOf(options: GuardOptions, listing: Listing, held: Held = new Map()): Held {
  const { servers, onDevice, sets, guard, wrong } = listing;
  const vips = new Map<string, Vip & { readonly ports: Map<PortKey, Port> }>();
  const vipOf = (hex: string) => {
    const vip = vips.get(hex) ?? {
      ...NO_VIP,
      isOnDevice: onDevice.has(hex),
      isExplicit: sets.explicit.has(hex),
      ports: new Map(),
    };
    vips.set(hex, vip);
    return vip;
  };
  for (const hex of [...onDevice, ...sets.explicit]) vipOf(hex);
  for (const [key, text] of sets.served) {
    const [hex = "", protocol, port] = key.split(" ");
    const served = isImportKey(text) ? text : UNNAMED;
    vipOf(hex).ports.set(`${protocol} ${port}` as PortKey, { owner: "ours", served });
  }
  for (const [server, destinations] of servers) {
    const { address, scheduler, flags, timeout } = server;
    const { ports } = vipOf(address);
    const key = portKey(server);
    const { served } = ports.get(key) ?? {};
    const isOurs = served !== undefined || isMarked(server);
    const isFar = served === undefined && !isOurAddress(options, listing, address);
    const before = () => parseVip(held.get(address)?.digest).ports.get(key)?.server?.destinations;
    ports.set(key, {
      owner: isOurs ? (isFar ? "far" : "ours") : "foreign",
      served,
      server: {
        terms: { scheduler, flags, timeout },
        destinations:
          destinations === undefined ? (before() ?? new Map()) : destinationsOf(destinations),
      },
    });
  }
  const found: Held = new Map();
  found.set(GUARD, { digest: guard });
  found.set(SETTINGS_ID, { digest: wrong.map(({ name }) => name).join() || RIGHT });
  for (const [hex, vip] of vips) found.set(hex, { digest: vipText(vip) ?? "" });
  return found;
}

function destinationsOf(found: readonly ListedDestination[]) {
  return new Map(
    found.map(({ weight, plain, active, inactive, ...rest }): [string, HeldDestination] => {
      const isIdle = weight === 0 && active + inactive === 0;
      return [destinationKey(rest), { weight, isPlain: plain, isIdle }];
    }),
  ) as ReadonlyMap<ReturnType<typeof destinationKey>, HeldDestination>;
}

/** The digest of the guard by its rules; `isBeside`: rules of another backend of ours may be in place. PURE. */
export function guardDigest(
  options: GuardOptions,
  rules: readonly string[],
  isBeside: boolean,
): string {
  const isLike = (unbound: boolean) =>
    marksOf({ ...options, unbound }).join("\n") === rules.join("\n");
  if (isLike(false)) return BOUND;
  // Rules that are bound already stay so: an earlier process has found no other backend.
  if (isBound(rules)) return BROKEN;
  const kind = rules.length === 0 ? MISSING : isLike(true) ? UNBOUND : BROKEN;
  return isBeside ? `${kind}${BESIDE}` : kind;
}

/** The elements of the guard's sets that the kernel holds. PURE. */
export function setsIn(held: Held): GuardSets {
  const sets = noSets();
  for (const [hex, { digest }] of held) {
    if (hex === GUARD || hex === SETTINGS_ID) continue;
    const { isExplicit, ports } = parseVip(digest);
    if (isExplicit) sets.explicit.add(hex);
    for (const [key, { served }] of ports) if (served) sets.served.set(`${hex} ${key}`, served);
  }
  return sets;
}

/** The elements of the sets of a table. PURE. */
export function setsOf({ sets: found }: NftTable): GuardSets {
  const sets = noSets();
  for (const [name, elements] of found) for (const element of elements) put(sets, name, element);
  return sets;
}

/** Skips elements that are not ours: writing the table again deletes them. */
function put(sets: GuardSets, name: string, { fields, comment }: NftElement): void {
  const [first, second, port] = fields;
  const address = parseAddress(String(first));
  if (!isAddress(address)) return;
  if (name === "explicit") sets.explicit.add(address.hex);
  const protocol = String(second).toUpperCase();
  if (name !== "served" || !isProtocol(protocol) || typeof port !== "number") return;
  sets.served.set(serviceKey({ address: address.hex, protocol, port }), comment);
}
