import assert from "node:assert/strict";
import type { IpvsCommands, Step } from "../../agent/backends/ipvs/commands.ts";
import type { GuardOptions } from "../../agent/backends/ipvs/guard.ts";
import { IpvsLayout } from "../../agent/backends/ipvs/layout.ts";
import { guardDigest, heldOf } from "../../agent/backends/ipvs/listing.ts";
import { type GuardSets, noSets } from "../../agent/backends/ipvs/nft-tables.ts";
import {
  type DestinationKey,
  destinationKey,
  destinationOf,
  type Terms,
} from "../../agent/backends/ipvs/vip.ts";
import type { Held } from "../../agent/backends/objects.ts";
import { type ServiceKey, serviceKey } from "../../agent/plan/virtual-service.ts";
import type { Command, ListedDestination, Server } from "../../agent/system/ipvs/object.ts";
import { isAddress, parseAddress } from "../../api/address.ts";
import { isProtocol } from "../../api/protocol.ts";
import { cidr } from "../generators/facts.ts";
import { pureTable } from "./pure-table.ts";

/** Of a node without masquerading. */
export const OPTIONS: GuardOptions = {
  family: "IPv4",
  clusterSetCidrs: [cidr("241.0.0.0/8")],
  masquerade: { mode: "none", podCidrs: [] },
};

interface ModelDestination {
  weight: number;
  /** How many connections lead to it. */
  connections: number;
  plain: boolean;
}

interface ModelServer {
  terms: Terms;
  readonly destinations: Map<DestinationKey, ModelDestination>;
}

/** A table of nftables. */
export interface ModelTable {
  readonly sets: GuardSets;
  /** Rules by chain, without their comments. */
  readonly chains: ReadonlyMap<string, readonly string[]>;
  /** The comments of its rules. */
  readonly rules: readonly string[];
}

/** A change that the kernel rejects. */
export class Refusal extends Error {}

/** One atomic change of the kernel. */
type Act =
  | { readonly kind: "nft"; readonly text: string }
  | { readonly kind: "ipvs"; readonly command: Command }
  | { readonly kind: "add" | "delete"; readonly vip: string };

/**
 * What a kernel makes of the IPVS backend's transactions, act by act, and as strict: what is there already is not made
 * again, and what is not there is neither changed nor deleted.
 */
export class ModelIpvs {
  readonly servers = new Map<ServiceKey, ModelServer>();
  readonly vips = new Set<string>();
  /** Our tables, by family and name. */
  tables: ReadonlyMap<string, ModelTable> = new Map();
  /** Of the agent that reads it. */
  options: GuardOptions;

  constructor(options: GuardOptions) {
    this.options = options;
  }

  /**
   * Does what a transaction asks for; after each act `look` sees what then is. `acts`: how many it gets to do.
   * Throws a `Refusal`, and what was done until then is done.
   */
  run({ commands }: HasCommands, look: () => void = () => undefined, acts = Infinity): void {
    for (const act of commands.steps.flatMap(actsOf).slice(0, acts)) {
      if (act.kind === "nft") this.#nft(act.text);
      else if (act.kind === "ipvs") this.#ipvs(act.command);
      else if (act.kind === "add") this.vips.add(act.vip);
      else this.vips.delete(act.vip);
      look();
    }
  }

  /** How many acts a transaction is. */
  static acts({ commands }: HasCommands): number {
    return commands.steps.flatMap(actsOf).length;
  }

  /** The guard's table; undefined if it does not exist. */
  get guard(): ModelTable | undefined {
    const found = [...this.tables].find(([name]) => /^ip6? /.test(name));
    return found?.[1];
  }

  /** What a new process reads. */
  read(): Held {
    const { guard } = this;
    const others = [...this.tables.values()].filter((table) => table !== guard);
    const rules = guard === undefined ? [] : [guard, ...others].flatMap((one) => one.rules);
    return heldOf(this.options, {
      servers: new Map([...this.servers].map(([key, one]) => this.#listed(key, one))),
      onDevice: this.vips,
      sets: guard?.sets ?? noSets(),
      guard: guardDigest(this.options, rules, false),
      wrong: [],
    });
  }

  #listed(key: ServiceKey, { terms, destinations }: ModelServer): [Server, ListedDestination[]] {
    const [address = "", protocol, port] = key.split(" ");
    assert.ok(isProtocol(protocol));
    const { family } = this.options;
    const listed = [...destinations].map(([one, { weight, connections, plain }]) => ({
      ...destinationOf(one, weight),
      ...{ plain, active: connections, inactive: 0, total: 0n },
    }));
    return [{ family, address, protocol, port: Number(port), ...terms }, listed];
  }

  /** Destinations of new connections. */
  takers(key: ServiceKey): ModelDestination[] {
    const all = [...(this.servers.get(key)?.destinations.values() ?? [])];
    return all.filter(({ weight }) => weight > 0);
  }

  #ipvs({ kind, server: name, ...rest }: Command): void {
    const key = serviceKey(name);
    const server = this.servers.get(key);
    if (kind === "new-server" || kind === "set-server") {
      if (!("scheduler" in name)) throw new TypeError("a server without terms");
      const terms = { scheduler: name.scheduler, flags: name.flags, timeout: name.timeout };
      if ((server === undefined) !== (kind === "new-server")) throw new Refusal(`${kind} ${key}`);
      this.servers.set(key, { destinations: new Map(), ...server, terms });
      return;
    }
    if (server === undefined) throw new Refusal(`${kind} ${key}: no server`);
    if (kind === "delete-server") {
      this.servers.delete(key);
      return;
    }
    if (!("destination" in rest)) throw new TypeError(kind);
    const one = destinationKey(rest.destination);
    const found = server.destinations.get(one);
    if ((found === undefined) !== (kind === "new-destination"))
      throw new Refusal(`${kind} ${key} ${one}`);
    const { weight } = rest.destination;
    if (kind === "delete-destination") server.destinations.delete(one);
    else server.destinations.set(one, { connections: 0, ...found, weight, plain: true });
  }

  /** One transaction of nft: all lines, or none. */
  #nft(text: string): void {
    const tables = new Map([...this.tables].map(([name, table]) => [name, copyOf(table)]));
    let open: ReturnType<typeof copyOf> = { sets: noSets(), chains: new Map(), rules: [] };
    let chain = "";
    for (const line of text.split("\n")) {
      const [, command, name = ""] = /^(table|delete table) (\S+ \S+)/.exec(line) ?? [];
      if (command === "delete table" && !tables.delete(name)) throw new Refusal(line);
      if (command === "table") {
        open = tables.get(name) ?? { sets: noSets(), chains: new Map(), rules: [] };
        tables.set(name, open);
      }
      chain = /^ {2}chain (\S+) \{$/.exec(line)?.[1] ?? chain;
      if (chain !== "" && !open.chains.has(chain)) open.chains.set(chain, []);
      const [, rule = "", mark] = /^ {4}(.*) comment "(.*)"$/.exec(line) ?? [];
      if (mark !== undefined) {
        open.rules.push(mark);
        open.chains.get(chain)?.push(rule);
      }
      const change = /^(add|delete) element (\S+ \S+) (\w+) \{ (.*) \}$/.exec(line);
      if (change === null) continue;
      const [, verb, table = "", set, elements = ""] = change;
      const sets = tables.get(table)?.sets;
      if (sets === undefined) throw new Refusal(line);
      for (const element of elements.split(", ")) {
        if (!put(sets, verb === "add", set, element)) throw new Refusal(line);
      }
    }
    this.tables = tables;
  }
}

function copyOf({ sets: { served, explicit }, chains, rules }: ModelTable) {
  const sets = { served: new Map(served), explicit: new Set(explicit) };
  const copies = [...chains].map(([name, all]): [string, string[]] => [name, [...all]]);
  return { sets, chains: new Map(copies), rules: [...rules] };
}

/** False if an element to delete is missing, or one to add exists with another comment. */
function put(sets: GuardSets, add: boolean, name: string | undefined, element: string): boolean {
  const [, value = "", comment] = /^(.*?)(?: comment "(.*)")?$/.exec(element) ?? [];
  const [first = "", second, third] = value.split(" . ");
  const address = parseAddress(first);
  assert.ok(isAddress(address), element);
  if (name === "served") {
    const protocol = second?.toUpperCase();
    assert.ok(isProtocol(protocol), element);
    const key = serviceKey({ address: address.hex, protocol, port: Number(third) });
    if (!add) return sets.served.delete(key);
    if (sets.served.has(key) && sets.served.get(key) !== comment) return false;
    sets.served.set(key, comment ?? "");
    return true;
  }
  assert.equal(name, "explicit");
  if (!add) return sets.explicit.delete(address.hex);
  sets.explicit.add(address.hex);
  return true;
}

function actsOf(step: Step): Act[] {
  if (step.kind === "nft") return [step];
  if (step.kind === "ipvs") return step.commands.map((command) => ({ kind: "ipvs", command }));
  if (!("vips" in step)) return [];
  const kind = step.kind === "add-vips" ? "add" : "delete";
  return step.vips.map((vip) => ({ kind, vip }));
}

/** A transaction of the agent. */
interface HasCommands {
  readonly commands: IpvsCommands;
}

/** The pure part of the IPVS backend. */
export function ipvsBackend(options: GuardOptions) {
  return pureTable(new IpvsLayout({ ...options, scheduler: "rr" }));
}
