import { type Family, isAddress, parseAddress } from "../../../api/address.ts";
import { type Cidr, contains } from "../../../api/cidr.ts";
import type { ObjectKey } from "../../../api/names.ts";
import type { VirtualService } from "../../plan/virtual-service.ts";
import { finished, type Ruleset, type WantedExtra } from "../backend.ts";
import { prefixChain, serviceChain } from "./chain-name.ts";
import { renderNode, type TreeStyle, treeChain } from "./dispatch.ts";
import { ExplicitVips } from "./explicit-vips.ts";
import { renderGuard } from "./guard.ts";
import { baseJumps } from "./jumps.ts";
import { type MasqueradePolicy, renderMasquerade } from "./masquerade.ts";
import { recentPrefixes } from "./memory.ts";
import { PrefixTree } from "./prefix-tree.ts";
import { type Chain, leadOn, renderEntry, renderService } from "./render.ts";
import { type ChainKey, type Changes, digestOf, type Rules, type Table } from "./tables.ts";

/** What the ruleset of one family depends on, besides the services. */
export interface RulesetOptions {
  readonly family: Family;
  readonly clusterSetCidr: Cidr;
  readonly masquerade: MasqueradePolicy;
}

/** What one import has in the ruleset. */
interface Holding {
  /** Names of its service chains. */
  readonly chains: ReadonlySet<string>;
  /** By VIP digits: the rules that dispatch it. */
  readonly entries: ReadonlyMap<string, readonly string[]>;
  /** Addresses of its endpoints that may run on this node. */
  readonly hairpins: readonly string[];
}

/** Characters of rules that are kept from when they are compared to when they are written. */
const MOST_KEPT = 1_000_000;

const NOTHING: Holding = { chains: new Set(), entries: new Map(), hairpins: [] };

/**
 * The wanted rules of one family. What it keeps is an index (which import has which VIPs, chains and local
 * endpoints); the rules themselves are rendered when an import changes and handed on. The index is a function
 * of the services now set: the same services give the same rules, whatever came before.
 */
export class IptablesRuleset implements Ruleset<Changes> {
  readonly #options: RulesetOptions;
  readonly #holdings = new Map<ObjectKey, Holding>();
  readonly #entries = new Map<string, readonly string[]>();
  readonly #holders = new Map<string, ObjectKey>();
  readonly #inside = new PrefixTree();
  readonly #explicit: ExplicitVips;
  #services = new Map<ChainKey, Rules | undefined>();
  /** Characters of rules in `#services`. */
  #size = 0;
  /** Chains of services that stay as the kernel has them, by import. */
  readonly #kept = new Map<ObjectKey, readonly ChainKey[]>();
  /** By address: how many imports have it among their endpoints that may run here. */
  readonly #hairpins = new Map<string, number>();
  #hairpinsChanged = false;
  #lastMade:
    | { readonly again: () => unknown; readonly chains: ReadonlyMap<string, readonly string[]> }
    | undefined;
  #taken = false;

  constructor(options: RulesetOptions) {
    this.#options = options;
    this.#explicit = new ExplicitVips(options.family, (vip) => this.#entries.get(vip) ?? []);
  }

  set(key: ObjectKey, services: readonly VirtualService[], extra: WantedExtra = {}): void {
    const { again, kept = [] } = extra;
    const before = this.#holdings.get(key) ?? NOTHING;
    const chains = chainsOf(services);
    const standing = kept.map(serviceChain);
    const after: Holding = {
      chains: new Set([...chains.map((chain) => chain.name), ...standing]),
      entries: entriesOf(services, kept),
      hairpins: hairpinsOf([...services, ...kept]),
    };
    if (services.length + kept.length === 0) this.#holdings.delete(key);
    else this.#holdings.set(key, after);
    if (kept.length === 0) this.#kept.delete(key);
    else
      this.#kept.set(
        key,
        standing.map((name): ChainKey => `nat ${name}`),
      );
    for (const name of before.chains) {
      if (!after.chains.has(name)) this.#services.set(`nat ${name}`, undefined);
    }
    for (const chain of this.#kept.get(key) ?? []) this.#services.delete(chain);
    for (const chain of chains)
      this.#services.set(`nat ${chain.name}`, this.#rulesOf(chain, again));
    this.#setEntries(key, before.entries, after.entries);
    for (const address of before.hairpins) this.#countHairpin(address, -1);
    for (const address of after.hairpins) this.#countHairpin(address, 1);
    if (!sameTexts(before.hairpins, after.hairpins)) this.#hairpinsChanged = true;
  }

  /** Few rules are kept as they are; of many only the digest is, if they can be made again. */
  #rulesOf({ name, rules }: Chain, again: WantedExtra["again"]): Rules {
    this.#size += rules.reduce((sum, rule) => sum + rule.length, 0);
    if (again === undefined || this.#size < MOST_KEPT) return rules;
    const lines = () => this.#madeAgain(again).get(name) ?? [];
    return { digest: digestOf(rules), lines };
  }

  /** Chains of one import are asked for one after the other: it is planned once for all. */
  #madeAgain(again: () => readonly VirtualService[]): ReadonlyMap<string, readonly string[]> {
    if (this.#lastMade?.again !== again) {
      const chains = chainsOf(again()).map(({ name, rules }) => [name, rules] as const);
      this.#lastMade = { again, chains: new Map(chains) };
    }
    return this.#lastMade.chains;
  }

  take(): Changes {
    return finished(this.taking());
  }

  *taking(): Generator<void, Changes> {
    const complete = !this.#taken;
    this.#taken = true;
    const chains = this.#services;
    this.#services = new Map();
    this.#size = 0;
    this.#lastMade = undefined;
    const kept = new Set([...this.#kept.values()].flat());
    yield* this.#takeDispatch(complete, chains);
    const explicitChanged = this.#explicit.take(complete, chains);
    if (complete || this.#hairpinsChanged) put(chains, "nat", this.#masquerade());
    this.#hairpinsChanged = false;
    if (complete) put(chains, "filter", renderGuard(this.#options.family));
    if (!complete && !explicitChanged) return { complete, chains, kept };
    return { complete, chains, kept, jumps: [...this.#explicit.jumps(), ...this.#ownJumps()] };
  }

  #setEntries(key: ObjectKey, before: Holding["entries"], after: Holding["entries"]): void {
    for (const vip of before.keys()) {
      // A VIP that passes from one import to another may have been taken over already.
      if (after.has(vip) || this.#holders.get(vip) !== key) continue;
      this.#holders.delete(vip);
      this.#entries.delete(vip);
      this.#treeOf(vip).delete(vip);
    }
    for (const [vip, rules] of after) {
      this.#holders.set(vip, key);
      const old = this.#entries.get(vip);
      if (old !== undefined && sameTexts(old, rules)) continue;
      this.#entries.set(vip, rules);
      if (old === undefined) this.#treeOf(vip).add(vip);
      else this.#treeOf(vip).touch(vip);
    }
  }

  #treeOf(vip: string): Pick<PrefixTree, "add" | "delete" | "touch"> {
    const { clusterSetCidr: cidr, family } = this.#options;
    return contains(cidr, { family, text: "", hex: vip }) ? this.#inside : this.#explicit;
  }

  *#takeDispatch(
    complete: boolean,
    chains: Map<ChainKey, Rules | undefined>,
  ): Generator<void, void> {
    const { family } = this.#options;
    const style = this.#insideStyle();
    const touched = this.#inside.takeTouched();
    for (const prefix of complete ? this.#inside.prefixes() : touched) {
      const rules = renderNode(this.#inside, prefix, style, family);
      chains.set(`nat ${treeChain(prefix, style, family)}`, rules);
      yield;
    }
  }

  #insideStyle(): TreeStyle {
    return {
      root: prefixChain("", this.#options.clusterSetCidr.text),
      infix: "",
      match: (range) => `-d ${range}`,
      entries: (vip) => this.#entries.get(vip) ?? [],
    };
  }

  #ownJumps() {
    const { clusterSetCidr, family } = this.#options;
    return baseJumps(clusterSetCidr.text, this.#insideStyle().root, family);
  }

  #countHairpin(address: string, by: 1 | -1): void {
    const count = (this.#hairpins.get(address) ?? 0) + by;
    if (count === 0) this.#hairpins.delete(address);
    else this.#hairpins.set(address, count);
  }

  #masquerade(): Chain {
    const { family, masquerade } = this.#options;
    return renderMasquerade([...this.#hairpins.keys()].sort(), masquerade, family);
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

function hairpinsOf(services: readonly VirtualService[]): string[] {
  const here = services.flatMap((service) => service.endpoints.filter((e) => e.maybeHere));
  return [...new Set(here.map((endpoint) => endpoint.address))].sort();
}

function put(chains: Map<ChainKey, Rules | undefined>, table: Table, chain: Chain): void {
  chains.set(`${table} ${chain.name}`, chain.rules);
}

function sameTexts(a: readonly string[], b: readonly string[]): boolean {
  return a.length === b.length && a.every((text, i) => text === b[i]);
}
