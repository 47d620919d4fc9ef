import { addressFromHex, type Family, isAddress, parseAddress } from "../../../api/address.ts";
import { type Cidr, containsAny } from "../../../api/cidr.ts";
import type { VirtualService } from "../../plan/virtual-service.ts";
import type { MasqueradePolicy, SetOptions } from "../backend.ts";
import type { Rendering } from "../dataplane.ts";
import type { Changes, Part } from "../objects.ts";
import { Buckets } from "./buckets.ts";
import { GUARD_EXPLICIT, MASQUERADE, MASQUERADE_EXPLICIT, SERVICES } from "./chain-name.ts";
import { recentPrefixes } from "./recent-lists.ts";
import { guardEntry, leadOn, renderEntry, renderService } from "./render.ts";
import { host, wasAddressedTo } from "./rule.ts";
import { chainPart, linesOf, type Objects, type Rules } from "./rules.ts";

/** What the rules of one family depend on, besides the services. */
export interface RulesOptions {
  readonly family: Family;
  /** The ClusterSet CIDRs of the family. */
  readonly clusterSetCidrs: readonly Cidr[];
  /** The ranges of the family in which there may be VIPs outside the ClusterSet CIDRs. */
  readonly explicitVipCidrs: readonly Cidr[];
  readonly masquerade: MasqueradePolicy;
}

/** Characters of rules that are kept in memory until they are written. */
const MOST_KEPT = 1_000_000;

/**
 * The rules of services, as chains. A service has a chain of its own, and a part of each of its VIPs: the rules that lead there. VIPs are no objects
 * of the kernel: their rules share chains (`Buckets`).
 */
export class IptablesRendering implements Rendering<Rules> {
  readonly #options: RulesOptions;
  readonly #dispatch = new Buckets(`nat ${SERVICES}`);
  /** Of explicit VIPs. */
  readonly #guard = new Buckets(`filter ${GUARD_EXPLICIT}`);
  /** Of explicit VIPs, one after the other: iptables loses a mask of `--ctorigdst` (1.8.9). */
  readonly #masquerade = new Buckets(`nat ${MASQUERADE_EXPLICIT}`, []);
  /** Characters of the rules of services since the last `join`. */
  #size = 0;
  #lastMade:
    | { readonly again: () => unknown; readonly rules: ReadonlyMap<string, readonly string[]> }
    | undefined;

  constructor(options: RulesOptions) {
    this.#options = options;
  }

  parts(services: readonly VirtualService[], { again, kept = [] }: SetOptions): Part<Rules>[] {
    const chains = chainsOf(services);
    return [...chains.map((chain) => this.#unmade(chain, again)), ...vipsOf(services, kept)];
  }

  *join({ complete, objects, keeps }: Changes<Rules>): Generator<void, Changes<Rules>> {
    const joined: Objects = new Map();
    this.#size = 0;
    this.#lastMade = undefined;
    for (const [id, part] of objects) {
      if (!isVip(id)) joined.set(id, part);
      else if (part !== "kept") this.#setVip(id, part && linesOf(part.content));
      yield;
    }
    const isExplicit = this.#options.explicitVipCidrs.length > 0;
    const explicit = isExplicit ? [this.#guard, this.#masquerade] : [];
    for (const buckets of [this.#dispatch, ...explicit]) {
      for (const [id, rules] of buckets.take()) {
        joined.set(id, rules && chainPart(id, rules));
        yield;
      }
    }
    return { complete, objects: joined, keeps };
  }

  /** Few rules are kept; of many only the digest is, if they can be rendered again. */
  #unmade(chain: Part<Rules>, again: SetOptions["again"]): Part<Rules> {
    this.#size += linesOf(chain.content).reduce((sum, rule) => sum + rule.length, 0);
    if (again === undefined || this.#size < MOST_KEPT) return chain;
    const lines = () => this.#madeAgain(again).get(chain.id) ?? [];
    return { ...chain, content: { lines } };
  }

  /** The chains of one import are requested one after the other, so it is planned once for all. */
  #madeAgain(again: () => readonly VirtualService[]): ReadonlyMap<string, readonly string[]> {
    if (this.#lastMade?.again !== again) {
      const rules = chainsOf(again()).map(({ id, content }) => [id, linesOf(content)] as const);
      this.#lastMade = { again, rules: new Map(rules) };
    }
    return this.#lastMade.rules;
  }

  #setVip(vip: string, entries: readonly string[] | undefined): void {
    const { family, clusterSetCidrs } = this.#options;
    this.#dispatch.set(vip, entries);
    if (containsAny(clusterSetCidrs, { family, text: "", hex: vip })) return;
    const was = wasAddressedTo(host(addressFromHex(vip).text, family), family);
    this.#guard.set(vip, entries?.map(guardEntry));
    this.#masquerade.set(vip, entries && [`${was} -g ${MASQUERADE}`]);
  }
}

/** VIPs are digits; all other IDs begin with a table. */
function isVip(id: string): boolean {
  return !id.includes(" ");
}

function chainsOf(services: readonly VirtualService[]): Part<Rules>[] {
  return recentPrefixes(services)
    .filter(([service]) => service.endpoints.length > 0)
    .map(([service, prefix]) => {
      const { name, rules } = renderService(service, prefix);
      return chainPart(`nat ${name}`, rules);
    });
}

/** A part for each VIP, with the rules of all its services. */
function vipsOf(
  services: readonly VirtualService[],
  kept: readonly VirtualService[],
): Part<Rules>[] {
  const entries = new Map<string, string[]>();
  const all = [...services, ...kept];
  for (const service of all) {
    for (const vip of service.vips) {
      const address = parseAddress(vip);
      if (!isAddress(address)) continue;
      const rules = entries.get(address.hex) ?? [];
      entries.set(address.hex, rules);
      rules.push(kept.includes(service) ? leadOn(service, vip) : renderEntry(service, vip));
    }
  }
  const importKey = all[0]?.importKey;
  return [...entries].map(([id, rules]) => ({ id, digest: "", importKey, content: rules.sort() }));
}
