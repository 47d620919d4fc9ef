import { type Family, isAddress, parseAddress } from "../../../api/address.ts";
import { type Cidr, contains } from "../../../api/cidr.ts";
import type { ObjectKey } from "../../../api/names.ts";
import type { VirtualService } from "../../plan/virtual-service.ts";
import { addressBits } from "../address-bits.ts";
import type { MasqueradePolicy, Ruleset, SetOptions } from "../backend.ts";
import { GUARD, HAIRPIN, MASQUERADE, prefixChain, serviceChain } from "./chain-name.ts";
import { renderNode, type TreeStyle, treeChain } from "./dispatch.ts";
import { ExplicitVips } from "./explicit-vips.ts";
import { baseJumps } from "./jumps.ts";
import { PrefixTree } from "./prefix-tree.ts";
import { recentPrefixes } from "./recent-lists.ts";
import { type Chain, leadOn, renderEntry, renderService } from "./render.ts";
import { comment } from "./rule.ts";
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

/**
 * Masquerades a packet whose source is its destination, and returns others: an endpoint that connects to its own VIP would reply to
 * itself directly, past NAT. Most other packets differ in one of the last bits, so few of the rules are evaluated.
 */
function renderHairpin(family: Family): Chain {
  const rules = addressBits(family).flatMap(({ mask, unset }, i, { length }) => {
    // iptables-save prints a mask that is a prefix by its length.
    const of = i === length - 1 ? "1" : mask.text;
    const [zero, one] = [`${unset.text}/${of}`, `${mask.text}/${of}`];
    return [`-s ${zero} -d ${one} -j RETURN`, `-s ${one} -d ${zero} -j RETURN`];
  });
  const all = [...rules, `${comment("hairpin")} -j MASQUERADE --random-fully`];
  return { name: HAIRPIN, rules: all.map((rule) => `-A ${HAIRPIN} ${rule}`) };
}

/**
 * Rejects new connections that are still addressed to a ClusterSetIP after DNAT, because the port has no endpoint or no import.
 * That happens before conntrack confirms them, so that the same source port can connect later. Other packets are dropped: a
 * reset in reply to an INVALID packet would end a live connection (kubernetes#74839).
 */
export function renderGuard(family: Family): Chain {
  const unreachable = family === "IPv4" ? "icmp-port-unreachable" : "icmp6-port-unreachable";
  const why = comment("no endpoint for this ClusterSetIP and port");
  return {
    name: GUARD,
    rules: [
      `-A ${GUARD} -p tcp -m conntrack --ctstate NEW ${why} -j REJECT --reject-with tcp-reset`,
      `-A ${GUARD} -m conntrack --ctstate NEW ${why} -j REJECT --reject-with ${unreachable}`,
      `-A ${GUARD} ${comment("not a new connection")} -j DROP`,
    ],
  };
}

/**
 * The rules for the first packet of each DNATed connection. Connections of endpoints to themselves are masqueraded in every
 * mode, because replies would bypass NAT. The rules match conntrack state, because other programs use packet marks (Kubernetes
 * 0x4000, Calico 0xffff0000, Cilium 0x0f00).
 */
export function renderMasquerade(policy: MasqueradePolicy, family: Family): Chain {
  const rules = [`${comment("hairpin")} -j ${HAIRPIN}`];
  const pods = policy.podCidrs.filter((cidr) => cidr.family === family);
  const all = (text: string) => `${comment(text)} -j MASQUERADE --random-fully`;
  const unless = (side: "-s" | "-d", text: string) => [
    ...pods.map((cidr) => `${side} ${cidr.text} ${comment(text)} -j RETURN`),
    all(text),
  ];
  if (policy.mode === "off-cluster") rules.push(...unless("-s", "masquerade off-cluster"));
  if (policy.mode === "remote") rules.push(...unless("-d", "masquerade remote"));
  if (policy.mode === "all") rules.push(all("masquerade all"));
  return { name: MASQUERADE, rules: rules.map((rule) => `-A ${MASQUERADE} ${rule}`) };
}
