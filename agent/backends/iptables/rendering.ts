import { type Family, isAddress, parseAddress } from "../../../api/address.ts";
import { type Cidr, contains } from "../../../api/cidr.ts";
import type { VirtualService } from "../../plan/virtual-service.ts";
import type { MasqueradePolicy, SetOptions } from "../backend.ts";
import type { Rendering } from "../dataplane.ts";
import type { Changes, Part } from "../objects.ts";
import { prefixChain } from "./chain-name.ts";
import { renderNode, type TreeStyle, treeChain } from "./dispatch.ts";
import { ExplicitVips } from "./explicit-vips.ts";
import { baseJumps, ONCE } from "./jumps.ts";
import type { Jump } from "./object-id.ts";
import { PrefixTree } from "./prefix-tree.ts";
import { recentPrefixes } from "./recent-lists.ts";
import { leadOn, renderEntry, renderService } from "./render.ts";
import { chainPart, linesOf, type Objects, type Rules } from "./rules.ts";

/** What the rules of one family depend on, besides the services. */
export interface RulesOptions {
  readonly family: Family;
  /** The ClusterSet CIDRs of the family. */
  readonly clusterSetCidrs: readonly Cidr[];
  readonly masquerade: MasqueradePolicy;
}

/**
 * The dispatch tree of the VIPs in one ClusterSet CIDR. No other tree has a chain of the same name, even if one range is a part of the
 * other: each chain below a root has a VIP that only its range contains.
 */
interface RangeTree {
  readonly range: Cidr;
  readonly tree: PrefixTree;
  readonly style: TreeStyle;
}

/** Characters of rules that are kept in memory until they are written. */
const MOST_KEPT = 1_000_000;

const NO_RULES: readonly string[] = [];

/**
 * The rules of services, as chains and jumps. A service has a chain of its own, and a part of each of its VIPs: the rules that lead there. VIPs are no
 * objects of the kernel. They share the chains of dispatch trees, whose shape depends on all VIPs, and VIPs outside the ClusterSet CIDRs have jumps.
 */
export class IptablesRendering implements Rendering<Rules> {
  readonly #options: RulesOptions;
  /** The rules of each VIP. */
  readonly #entries = new Map<string, readonly string[]>();
  readonly #inside: readonly RangeTree[];
  readonly #explicit: ExplicitVips;
  #jumps: readonly Jump[] = [];
  /** Characters of the rules of services since the last `join`. */
  #size = 0;
  #lastMade:
    | { readonly again: () => unknown; readonly rules: ReadonlyMap<string, readonly string[]> }
    | undefined;

  constructor(options: RulesOptions) {
    this.#options = options;
    const entries = (vip: string) => this.#entries.get(vip) ?? [];
    this.#inside = options.clusterSetCidrs.map((range) => {
      const root = prefixChain("", range.text);
      const style = { root, infix: "", match: (match: string) => `-d ${match}`, entries };
      return { range, tree: new PrefixTree(), style };
    });
    this.#explicit = new ExplicitVips(options.family, entries);
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
    yield* this.#putTrees(complete, joined);
    if (this.#explicit.take(complete, joined)) this.#putJumps(joined);
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

  #setVip(vip: string, rules: readonly string[] | undefined): void {
    const before = this.#entries.get(vip);
    if (rules === undefined) {
      if (this.#entries.delete(vip)) this.#treeOf(vip).delete(vip);
      return;
    }
    if (before !== undefined && isSame(before, rules)) return;
    this.#entries.set(vip, rules);
    if (before === undefined) this.#treeOf(vip).add(vip);
    else this.#treeOf(vip).touch(vip);
  }

  #treeOf(vip: string): Pick<PrefixTree, "add" | "delete" | "touch"> {
    const address = { family: this.#options.family, text: "", hex: vip };
    return this.#inside.find(({ range }) => contains(range, address))?.tree ?? this.#explicit;
  }

  *#putTrees(complete: boolean, objects: Objects): Generator<void, void> {
    const { family } = this.#options;
    for (const { tree, style } of this.#inside) {
      const touched = tree.takeTouched();
      for (const prefix of complete ? tree.prefixes() : touched) {
        const id = `nat ${treeChain(prefix, style, family)}` as const;
        const rules = renderNode(tree, prefix, style, family);
        objects.set(id, rules && chainPart(id, rules));
        yield;
      }
    }
  }

  #putJumps(objects: Objects): void {
    const { family } = this.#options;
    const own = this.#inside.flatMap(({ range, style }) =>
      baseJumps(range.text, style.root, family),
    );
    const before = this.#jumps;
    this.#jumps = [...this.#explicit.jumps(), ...own];
    for (const id of before) objects.set(id, undefined);
    for (const id of this.#jumps) objects.set(id, { id, digest: ONCE, content: NO_RULES });
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

function isSame(a: readonly string[], b: readonly string[]): boolean {
  return a.length === b.length && a.every((text, i) => text === b[i]);
}
