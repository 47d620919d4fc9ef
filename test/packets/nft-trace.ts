import assert from "node:assert/strict";
import { finished } from "../../agent/backends/backend.ts";
import { destination } from "../../agent/plan/virtual-service.ts";
import { numberText } from "../../agent/system/nftables/text.ts";
import { type Address, addressFromHex } from "../../api/address.ts";
import { contains, ofFamily } from "../../api/cidr.ts";
import { ModelNftables, nftablesBackend } from "../doubles/model-nftables.ts";
import { address, cidr } from "../generators/facts.ts";
import { andDraw, CERTAIN, type Chance } from "./chance.ts";
import { hasBits } from "./has-bits.ts";
import type { Packet } from "./packet.ts";
import { type Programming, setAll } from "./rendered.ts";
import { type Fate, type Outcome, rejectedBy, type Traced } from "./trace.ts";

/** What the kernel remembers: the set `clients`, and which hash a client's address has. */
interface Memory {
  readonly clients: ReadonlyMap<string, number>;
  readonly hashes: ReadonlyMap<string, number>;
}

const NO_MEMORY: Memory = { clients: new Map(), hashes: new Map() };

/** A packet on its way. */
interface Journey {
  readonly packet: Packet;
  readonly source: Address;
  readonly destination: Address;
  readonly port: number;
  /** The destination of its connection's first packet. */
  readonly original: Address | undefined;
  readonly translated: boolean;
  readonly priority: number;
  readonly memory: Memory;
  readonly chance: Chance;
  readonly asked: number;
  readonly rules: readonly string[];
}

/** How a chain ends for a packet; `undefined`: the rule after the jump follows, or the policy of the base chain. */
type Ending = "accept" | "drop" | "masquerade" | { readonly reject: string } | undefined;

/** A model of the kernel that an agent with nftables has programmed, and a tracer through its rules and sets. */
export function programNftables({ services, family, node, masquerade }: Programming): Traced {
  const clusterSetCidrs = ofFamily(node.clusterSetCidrs, family);
  const policy = { mode: masquerade, podCidrs: node.podCidrs };
  const options = { family, clusterSetCidrs, masquerade: policy, affinity: "remembered" } as const;
  const kernel = new ModelNftables(options);
  const backend = nftablesBackend(options);
  const write = (desired: Programming["services"]) => {
    const ruleset = backend.ruleset();
    setAll(ruleset, desired, family);
    kernel.run(finished(backend.diff(kernel.read(), finished(ruleset.take()))));
  };
  write(services);
  return {
    trace: (packet, memory?: Memory) => new Trace(kernel).outcomes(packet, memory),
    withdraw: () => write(new Map()),
  };
}

class Trace {
  readonly #kernel: ModelNftables;

  constructor(kernel: ModelNftables) {
    this.#kernel = kernel;
  }

  /** As `trace` of iptables: NAT is for first packets only; later ones are translated like the first. */
  outcomes(packet: Packet, memory = NO_MEMORY): Outcome<Memory>[] {
    const { boundTo, state = "NEW" } = packet;
    const start: Journey = {
      packet,
      source: address(packet.source),
      destination: address(boundTo?.address ?? packet.destination),
      port: boundTo?.port ?? packet.port,
      original: state === "INVALID" ? undefined : address(packet.destination),
      translated: boundTo !== undefined,
      ...{ priority: 0, memory, chance: CERTAIN, asked: 0, rules: [] },
    };
    const [nat, filter] =
      packet.from === "pod" ? ["prerouting", "guard-forward"] : ["output", "guard-output"];
    const outcomes: Outcome<Memory>[] = [];
    const through = (chain: string, journeys: readonly Journey[]): Journey[] =>
      journeys.flatMap((journey) =>
        this.#walk(chain, journey).flatMap(([next, ending]) => {
          if (ending === undefined || ending === "accept") return [next];
          outcomes.push(outcomeOf(next, ending));
          return [];
        }),
      );
    const first = state === "NEW" ? through(nat, [start]) : [start];
    const filtered = through(filter, first);
    const sent = state === "NEW" ? through("postrouting", filtered) : filtered;
    outcomes.push(...sent.map((journey) => outcomeOf(journey, "accept")));
    return outcomes;
  }

  #walk(chain: string, start: Journey): [Journey, Ending][] {
    const { rules } = this.#kernel.chains.get(chain) ?? assert.fail(chain);
    let open = [start];
    const ended: [Journey, Ending][] = [];
    for (const rule of rules) {
      const next: Journey[] = [];
      for (const journey of open) {
        const asked = { ...journey, asked: journey.asked + 1 };
        for (const [after, verdict] of this.#rule(rule.replace(/ comment ".*"$/, ""), asked)) {
          if (verdict === undefined) {
            next.push(after);
            continue;
          }
          const hit = { ...after, rules: [...after.rules, `${chain} ${rule}`] };
          const [word, target = ""] = verdict.split(" ");
          if (word === "goto") ended.push(...this.#walk(target, hit));
          else if (word === "jump")
            for (const [back, ending] of this.#walk(target, hit)) {
              if (ending === undefined) next.push(back);
              else ended.push([back, ending]);
            }
          else if (word === "return") ended.push([hit, undefined]);
          else if (word === "accept" || word === "drop" || word === "masquerade")
            ended.push([hit, word]);
          else ended.push([hit, { reject: verdict }]);
        }
      }
      open = next;
    }
    return [...ended, ...open.map((journey): [Journey, Ending] => [journey, undefined])];
  }

  /** All results of one rule; without a verdict, the next rule follows. */
  #rule(rule: string, journey: Journey): [Journey, string | undefined][] {
    if (rule === "") return [[journey, undefined]];
    for (const [pattern, ask] of this.#matches(journey)) {
      const found = pattern.exec(rule);
      if (found === null) continue;
      return ask(found.slice(1).map((text) => text ?? "")).flatMap((one) => {
        if (one === undefined) return [[journey, undefined] as [Journey, undefined]];
        return this.#rule(rule.slice(found[0].length).trimStart(), one);
      });
    }
    const [, map] = /^meta priority vmap @(\S+)$/.exec(rule) ?? [];
    if (map !== undefined) {
      const verdict = this.#kernel.branches.get(map)?.get(numberText(journey.priority));
      return [[journey, verdict]];
    }
    if (rule.startsWith("dnat to ")) return this.#dnat(rule, journey);
    assert.match(
      rule,
      /^(goto|jump) \S+$|^(return|accept|drop)$|^masquerade fully-random$|^reject with /,
    );
    return [[journey, rule.replace(" fully-random", "")]];
  }

  /** The parts of a rule before its verdict: each gives journeys, or undefined if it does not match. */
  #matches(journey: Journey): [RegExp, (found: readonly string[]) => (Journey | undefined)[]][] {
    const { packet, source, destination, original, translated } = journey;
    const state = packet.state ?? "NEW";
    const isIn = (range: string, one: Address | undefined) =>
      one !== undefined &&
      (range === "@explicit" ? this.#has("explicit", one.hex) : contains(cidr(range), one));
    const only = (holds: boolean) => [holds ? journey : undefined];
    const service = this.#service(journey);
    const set = (priority: number | undefined) => [
      priority === undefined ? undefined : { ...journey, priority },
    ];
    const value = (map: string, key: string) => {
      const found = this.#kernel.elements.get(map)?.get(key)?.value;
      return set(found === undefined ? undefined : Number(found));
    };
    const client = `${source.hex} ${destination.hex}`;
    const remember = (id: number | undefined) => {
      const clients = new Map(journey.memory.clients);
      if (id === undefined) clients.delete(client);
      else if (!clients.has(client)) clients.set(client, id);
      return [{ ...journey, memory: { ...journey.memory, clients } }];
    };
    return [
      [
        /^ip6? saddr & (\S+) == (\S+) /,
        ([mask = "", bits = ""]) => only(hasBits(source, mask, bits)),
      ],
      [
        /^ip6? daddr & (\S+) == (\S+) /,
        ([mask = "", bits = ""]) => only(hasBits(destination, mask, bits)),
      ],
      [/^ip6? saddr (\S+) (?=return)/, ([range = ""]) => only(isIn(range, source))],
      [/^ip6? daddr (\S+) /, ([range = ""]) => only(isIn(range, destination))],
      [/^ct original ip6? daddr (\S+) /, ([range = ""]) => only(isIn(range, original))],
      [/^ct status dnat /, () => only(translated)],
      [/^ct state (\S+) /, ([some = ""]) => only(some.split(",").includes(state.toLowerCase()))],
      [/^meta l4proto (tcp) /, ([one]) => only(one === packet.protocol)],
      [/^meta priority set none/, () => set(0)],
      [
        /^meta priority set numgen random mod (\d+)(?: offset (\d+))?/,
        ([n, offset]) => draws(journey, Number(n), Number(offset)),
      ],
      [
        /^meta priority set jhash ip6? saddr mod (\d+)(?: offset (\d+))?/,
        ([n, offset]) => hashes(journey, Number(n), Number(offset)),
      ],
      [
        /^meta priority set ip6? daddr \. meta l4proto \. th dport map @(\S+)/,
        ([map = ""]) => value(map, service),
      ],
      [
        /^meta priority set ip6? daddr \. meta l4proto \. th dport \. meta priority map @(\S+)/,
        ([map = ""]) => value(map, `${service} ${journey.priority}`),
      ],
      [
        /^meta priority set ip6? saddr \. ip6? daddr map @clients/,
        () => set(journey.memory.clients.get(client)),
      ],
      [
        /^update @clients \{ ip6? saddr \. ip6? daddr timeout \d+s : meta priority \}/,
        () => remember(journey.priority),
      ],
      [
        /^delete @clients \{ ip6? saddr \. ip6? daddr : meta priority \}/,
        () => remember(undefined),
      ],
    ];
  }

  #dnat(rule: string, journey: Journey): [Journey, string | undefined][] {
    assert.match(
      rule,
      /^dnat to ip6? daddr \. meta l4proto \. th dport \. meta priority map @endpoints$/,
    );
    const key = `${this.#service(journey)} ${journey.priority}`;
    const found = this.#kernel.elements.get("endpoints")?.get(key);
    if (found === undefined) return [[journey, undefined]];
    const [hex = "", port] = found.value.split(" ");
    const to = { destination: addressFromHex(hex), port: Number(port), translated: true };
    return [[{ ...journey, ...to }, "accept"]];
  }

  #service({ destination, packet, port }: Journey): string {
    return `${destination.hex} ${packet.protocol.toUpperCase()} ${port}`;
  }

  #has(set: string, key: string): boolean {
    return this.#kernel.elements.get(set)?.has(key) ?? false;
  }
}

/** All results of a draw; the shares add up to one exactly. */
function draws(journey: Journey, n: number, offset: number): Journey[] {
  const equal = Math.floor(2 ** 31 / n);
  return Array.from({ length: n }, (_, i) => {
    const share = i === n - 1 ? 2 ** 31 - equal * (n - 1) : equal;
    return { ...journey, priority: offset + i, chance: andDraw(journey.chance, share) };
  });
}

/** A hash is a draw that each client makes once. */
function hashes(journey: Journey, n: number, offset: number): Journey[] {
  const name = `${journey.source.hex} ${n} ${offset}`;
  const known = journey.memory.hashes.get(name);
  if (known !== undefined) return [{ ...journey, priority: known }];
  return draws(journey, n, offset).map((one) => {
    const all = new Map(one.memory.hashes).set(name, one.priority);
    return { ...one, memory: { ...one.memory, hashes: all } };
  });
}

function outcomeOf(journey: Journey, ending: NonNullable<Ending>): Outcome<Memory> {
  const { chance, memory, asked, rules } = journey;
  return { fate: fateOf(journey, ending), chance, memory, asked, rules };
}

function fateOf({ destination: to, port, translated }: Journey, ending: NonNullable<Ending>): Fate {
  if (ending === "drop") return { fate: "dropped" };
  if (typeof ending !== "string") return rejectedBy(ending.reject);
  const masquerade = ending === "masquerade";
  if (!translated && !masquerade) return { fate: "untouched" };
  return { fate: "sent", to: destination(to.text, port), masquerade };
}
