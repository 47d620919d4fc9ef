import assert from "node:assert/strict";
import { finished } from "../../agent/backends/backend.ts";
import { destinationKey, destinationText } from "../../agent/backends/ipvs/vip.ts";
import { serviceKey } from "../../agent/plan/virtual-service.ts";
import type { Address } from "../../api/address.ts";
import { contains, ofFamily } from "../../api/cidr.ts";
import { isProtocol } from "../../api/protocol.ts";
import { ipvsBackend, ModelIpvs, type ModelTable } from "../doubles/model-ipvs.ts";
import { address, cidr } from "../generators/facts.ts";
import { andDraw, CERTAIN, type Chance } from "./chance.ts";
import { hasBits } from "./has-bits.ts";
import type { Packet } from "./packet.ts";
import { type Programming, setAll } from "./rendered.ts";
import { type Fate, type Outcome, rejectedBy, type Traced } from "./trace.ts";

/** The endpoint of each client, by client and virtual server. */
type Persistence = ReadonlyMap<string, string>;

/** A packet as nftables matches it. */
interface Headers {
  readonly source: Address;
  readonly destination: Address;
  /** The destination of its connection's first packet. */
  readonly original: Address;
  readonly protocol: string;
  readonly port: number;
  readonly state: "NEW" | "ESTABLISHED" | "INVALID";
}

/** A model of the kernel that an agent with IPVS has programmed, and a tracer through its guard and virtual servers. */
export function programIpvs({ services, family, node, masquerade }: Programming): Traced {
  const clusterSetCidrs = ofFamily(node.clusterSetCidrs, family);
  const policy = { mode: masquerade, podCidrs: node.podCidrs };
  const options = { family, clusterSetCidrs, masquerade: policy };
  const kernel = new ModelIpvs(options);
  const backend = ipvsBackend(options);
  const write = (desired: Programming["services"]) => {
    const ruleset = backend.ruleset();
    setAll(ruleset, desired, family);
    kernel.run(finished(backend.diff(kernel.read(), finished(ruleset.take()))));
  };
  write(services);
  return {
    trace: (packet, memory?: Persistence) => trace(kernel, packet, memory),
    withdraw: () => {
      for (const { destinations } of kernel.servers.values())
        for (const destination of destinations.values()) destination.connections = 1;
      write(new Map());
    },
  };
}

/**
 * All outcomes of a packet: nftables' filters, IPVS if the destination is an address of the node, then the source address. The
 * node's own connections to a VIP have the VIP as their source.
 */
function trace(
  kernel: ModelIpvs,
  packet: Packet,
  memory: Persistence = new Map(),
): Outcome<Persistence>[] {
  const { from, state = "NEW", protocol, port, boundTo } = packet;
  const destination = address(packet.destination);
  const isLocal = kernel.vips.has(destination.hex);
  const source = from === "host" && isLocal ? destination : address(packet.source);
  const headers = { source, destination, original: destination, protocol, port, state };
  const outcome = (fate: Fate, chance: Chance = CERTAIN, after = memory): Outcome<Persistence> => {
    return { fate, chance, memory: after, asked: 0, rules: [] };
  };
  const { guard } = kernel;
  assert.ok(guard);
  const hook = from === "host" ? "output" : isLocal ? "input" : "forward";
  const filtered = evaluate(guard, hook, headers);
  if (filtered.fate !== "untouched") return [outcome(filtered)];
  const name = protocol.toUpperCase();
  assert.ok(isProtocol(name));
  const key = serviceKey({ address: destination.hex, protocol: name, port });
  const server = kernel.servers.get(key);
  if (!isLocal || server === undefined) return [outcome({ fate: "untouched" })];
  // IPVS schedules no packet in the middle of a connection.
  if (state === "INVALID") return [outcome(evaluate(guard, "strays", headers))];
  if (boundTo !== undefined) {
    const bound = destinationKey({ address: address(boundTo.address).hex, port: boundTo.port });
    assert.ok(server.destinations.has(bound), "the connection's destination is kept");
    return [outcome({ fate: "sent", to: destinationText(bound), masquerade: false })];
  }
  const client = `${source.text} ${key}`;
  const known = memory.get(client);
  const takers = [...server.destinations].filter(([, { weight }]) => weight > 0);
  const candidates = takers.filter(([one]) => one === known);
  const selected = candidates.length > 0 ? candidates : takers;
  if (selected.length === 0) return [outcome(evaluate(guard, "strays", headers))];
  const { scheduler } = server.terms;
  const weights = selected.map(([, { weight }]) => (scheduler === "wrr" ? weight : 1));
  return selected.map(([one], i) => {
    const endpoint = address(endpointOf(one));
    const sent = evaluate(guard, "postrouting", { ...headers, destination: endpoint });
    const masquerade = sent.fate === "sent" && sent.masquerade;
    const after = server.terms.timeout > 0 ? new Map(memory).set(client, one) : memory;
    const fate: Fate = { fate: "sent", to: destinationText(one), masquerade };
    return outcome(fate, share(i, weights), after);
  });
}

/** The fate of a packet in a chain; `sent` if it is masqueraded there, and `untouched` if it passes. */
function evaluate(table: ModelTable, chain: string, headers: Headers): Fate {
  for (const rule of table.chains.get(chain) ?? assert.fail(chain)) {
    const verdict = verdictOf(rule, table, headers);
    if (verdict === undefined) continue;
    if (verdict === "return" || verdict === "accept") return { fate: "untouched" };
    if (verdict === "drop") return { fate: "dropped" };
    if (verdict.startsWith("masquerade ")) return { fate: "sent", to: "", masquerade: true };
    const [, next] = /^goto (\S+)$/.exec(verdict) ?? [];
    if (next !== undefined) return evaluate(table, next, headers);
    const [, called] = /^jump (\S+)$/.exec(verdict) ?? [];
    if (called !== undefined) {
      const fate = evaluate(table, called, headers);
      if (fate.fate === "untouched") continue;
      return fate;
    }
    assert.match(verdict, /^reject with /);
    return rejectedBy(verdict);
  }
  return { fate: "untouched" };
}

/** The verdict of a rule, or undefined if the packet does not match. Throws at a rule that is unknown. */
function verdictOf(rule: string, { sets }: ModelTable, headers: Headers): string | undefined {
  const { source, destination, original, protocol, port, state } = headers;
  const tracked = state !== "INVALID";
  const name = protocol.toUpperCase();
  assert.ok(isProtocol(name));
  const served = () =>
    sets.served.has(serviceKey({ address: destination.hex, protocol: name, port }));
  const matches: readonly (readonly [RegExp, (value: string, more: string) => boolean])[] = [
    [/^ip6? daddr \. meta l4proto \. th dport @served /, served],
    [/^ip6? saddr & (\S+) == (\S+) /, (mask, bits) => hasBits(source, mask, bits)],
    [/^ip6? daddr & (\S+) == (\S+) /, (mask, bits) => hasBits(destination, mask, bits)],
    [/^ip6? saddr (\S+) /, (range) => isIn(range, source, sets.explicit)],
    [/^ip6? daddr (\S+) /, (range) => isIn(range, destination, sets.explicit)],
    [/^ct original ip6? daddr (\S+) /, (range) => tracked && isIn(range, original, sets.explicit)],
    [/^ct direction original /, () => tracked],
    [/^ct state (\S+) /, (states) => states.split(",").includes(state.toLowerCase())],
    [/^meta l4proto (\S+) /, (one) => one === protocol],
  ];
  let rest = rule;
  for (;;) {
    const match = matches.find(([pattern]) => pattern.test(rest));
    if (match === undefined) return rest;
    const [pattern, holds] = match;
    const [text = "", value = "", more = ""] = pattern.exec(rest) ?? [];
    if (!holds(value, more)) return undefined;
    rest = rest.slice(text.length);
  }
}

function isIn(range: string, one: Address, explicit: ReadonlySet<string>): boolean {
  return range === "@explicit" ? explicit.has(one.hex) : contains(cidr(range), one);
}

/** The part of a weight in all of them; the parts add up to one exactly. */
function share(i: number, weights: readonly number[]): Chance {
  const sumOf = (some: readonly number[]) => some.reduce((sum, weight) => sum + weight, 0);
  const upTo = (n: number) => Math.round((2 ** 31 * sumOf(weights.slice(0, n))) / sumOf(weights));
  return andDraw(CERTAIN, upTo(i + 1) - upTo(i));
}

function endpointOf(destination: Parameters<typeof destinationText>[0]): string {
  return destinationText(destination).replace(/:\d+$/, "").replace(/[[\]]/g, "");
}
