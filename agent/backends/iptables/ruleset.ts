import { type Family, isAddress, parseAddress } from "../../../api/address.ts";
import { type Cidr, contains } from "../../../api/cidr.ts";
import type { ObjectKey } from "../../../api/names.ts";
import type { VirtualService } from "../../plan/virtual-service.ts";
import type { MasqueradePolicy, Ruleset, SetOptions } from "../backend.ts";
import { prefixChain, serviceChain } from "./chain-name.ts";
import { renderNode, type TreeStyle, treeChain } from "./dispatch.ts";
import { ExplicitVips } from "./explicit-vips.ts";
import { renderGuard } from "./guard.ts";
import { renderHairpin } from "./hairpin.ts";
import { baseJumps } from "./jumps.ts";
import { renderMasquerade } from "./masquerade.ts";
import { PrefixTree } from "./prefix-tree.ts";
import { recentPrefixes } from "./recent-lists.ts";
import { type Chain, leadOn, renderEntry, renderService } from "./render.ts";
import {
  type ChainKey,
  type Changes,
  type DesiredChain,
  digestOf,
  type Rules,
  type Table,
} from "./state.ts";

/** What the ruleset of one family depends on, besides the services. */
export interface RulesetOptions {
  readonly family: Family;
  /** The ClusterSet CIDRs of the family. */
  readonly clusterSetCidrs: readonly Cidr[];
  readonly masquerade: MasqueradePolicy;
}

/** The part of the ruleset that belongs to one import. */
interface ImportRules {
  /** Names of its service chains. */
  readonly chains: ReadonlySet<string>;
  /** Dispatch rules by VIP (`Address.hex`). */
  readonly entries: ReadonlyMap<string, readonly string[]>;
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

const NOTHING: ImportRules = { chains: new Set(), entries: new Map() };

/**
 * The desired rules of one family. It keeps an index of the VIPs and chains of each import; rules are rendered
 * when an import changes. The same services give the same rules, whatever was set before.
 */
export class IptablesRuleset implements Ruleset<Changes> {
  readonly #options: RulesetOptions;
  readonly #imports = new Map<ObjectKey, ImportRules>();
  readonly #entries = new Map<string, readonly string[]>();
  readonly #owners = new Map<string, ObjectKey>();
  readonly #inside: readonly RangeTree[];
  readonly #explicit: ExplicitVips;
  #services = new Map<ChainKey, DesiredChain>();
  /** Characters of rules in `#services`. */
  #size = 0;
  #lastMade:
    | { readonly again: () => unknown; readonly chains: ReadonlyMap<string, readonly string[]> }
    | undefined;
  #taken = false;

  constructor(options: RulesetOptions) {
    this.#options = options;
    const entries = (vip: string) => this.#entries.get(vip) ?? [];
    this.#inside = options.clusterSetCidrs.map((range) => {
      const root = prefixChain("", range.text);
      const style = { root, infix: "", match: (match: string) => `-d ${match}`, entries };
      return { range, tree: new PrefixTree(), style };
    });
    this.#explicit = new ExplicitVips(options.family, entries);
  }

  set(
    key: ObjectKey,
    services: readonly VirtualService[],
    { again, kept = [] }: SetOptions = {},
  ): void {
    const before = this.#imports.get(key) ?? NOTHING;
    const chains = chainsOf(services);
    const keptChains = kept.map(serviceChain);
    const after: ImportRules = {
      chains: new Set([...chains.map((chain) => chain.name), ...keptChains]),
      entries: entriesOf(services, kept),
    };
    if (services.length + kept.length === 0) this.#imports.delete(key);
    else this.#imports.set(key, after);
    for (const name of before.chains) {
      if (!after.chains.has(name)) this.#services.set(`nat ${name}`, undefined);
    }
    for (const name of keptChains) this.#services.set(`nat ${name}`, "kept");
    for (const chain of chains)
      this.#services.set(`nat ${chain.name}`, this.#rulesOf(chain, again));
    this.#setEntries(key, before.entries, after.entries);
  }

  /** Few rules are kept; of many only the digest is, if they can be rendered again. */
  #rulesOf({ name, rules }: Chain, again: SetOptions["again"]): Rules {
    this.#size += rules.reduce((sum, rule) => sum + rule.length, 0);
    if (again === undefined || this.#size < MOST_KEPT) return rules;
    const lines = () => this.#madeAgain(again).get(name) ?? [];
    return { digest: digestOf(rules), lines };
  }

  /** The chains of one import are requested one after the other, so it is planned once for all. */
  #madeAgain(again: () => readonly VirtualService[]): ReadonlyMap<string, readonly string[]> {
    if (this.#lastMade?.again !== again) {
      const chains = chainsOf(again()).map(({ name, rules }) => [name, rules] as const);
      this.#lastMade = { again, chains: new Map(chains) };
    }
    return this.#lastMade.chains;
  }

  *take(): Generator<void, Changes> {
    const complete = !this.#taken;
    this.#taken = true;
    const chains = this.#services;
    this.#services = new Map();
    this.#size = 0;
    this.#lastMade = undefined;
    yield* this.#takeDispatch(complete, chains);
    const explicitChanged = this.#explicit.take(complete, chains);
    const { family, masquerade } = this.#options;
    if (complete) {
      put(chains, "nat", renderHairpin(family));
      put(chains, "nat", renderMasquerade(masquerade, family));
      put(chains, "filter", renderGuard(family));
    }
    if (!complete && !explicitChanged) return { complete, chains };
    const own = this.#inside.flatMap(({ range, style }) =>
      baseJumps(range.text, style.root, family),
    );
    return { complete, chains, jumps: [...this.#explicit.jumps(), ...own] };
  }

  #setEntries(key: ObjectKey, before: ImportRules["entries"], after: ImportRules["entries"]): void {
    for (const vip of before.keys()) {
      // Another import may have taken over the VIP.
      if (after.has(vip) || this.#owners.get(vip) !== key) continue;
      this.#owners.delete(vip);
      this.#entries.delete(vip);
      this.#treeOf(vip).delete(vip);
    }
    for (const [vip, rules] of after) {
      this.#owners.set(vip, key);
      const old = this.#entries.get(vip);
      if (old !== undefined && sameTexts(old, rules)) continue;
      this.#entries.set(vip, rules);
      if (old === undefined) this.#treeOf(vip).add(vip);
      else this.#treeOf(vip).touch(vip);
    }
  }

  #treeOf(vip: string): Pick<PrefixTree, "add" | "delete" | "touch"> {
    const address = { family: this.#options.family, text: "", hex: vip };
    return this.#inside.find(({ range }) => contains(range, address))?.tree ?? this.#explicit;
  }

  *#takeDispatch(complete: boolean, chains: Map<ChainKey, DesiredChain>): Generator<void, void> {
    const { family } = this.#options;
    for (const { tree, style } of this.#inside) {
      const touched = tree.takeTouched();
      for (const prefix of complete ? tree.prefixes() : touched) {
        const rules = renderNode(tree, prefix, style, family);
        chains.set(`nat ${treeChain(prefix, style, family)}`, rules);
        yield;
      }
    }
  }
}

function chainsOf(services: readonly VirtualService[]): Chain[] {
  return recentPrefixes(services)
    .filter(([service]) => service.endpoints.length > 0)
    .map(([service, prefix]) => renderService(service, prefix));
}

function entriesOf(
  services: readonly VirtualService[],
  kept: readonly VirtualService[],
): Map<string, readonly string[]> {
  const entries = new Map<string, string[]>();
  for (const service of [...services, ...kept]) {
    for (const vip of service.vips) {
      const address = parseAddress(vip);
      if (!isAddress(address)) continue;
      const rules = entries.get(address.hex) ?? [];
      entries.set(address.hex, rules);
      rules.push(kept.includes(service) ? leadOn(service, vip) : renderEntry(service, vip));
    }
  }
  for (const rules of entries.values()) rules.sort();
  return entries;
}

function put(chains: Map<ChainKey, DesiredChain>, table: Table, chain: Chain): void {
  chains.set(`${table} ${chain.name}`, chain.rules);
}

function sameTexts(a: readonly string[], b: readonly string[]): boolean {
  return a.length === b.length && a.every((text, i) => text === b[i]);
}
