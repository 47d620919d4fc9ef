import { destination as textOf } from "../../agent/plan/virtual-service.ts";
import type { Table } from "../doubles/iptables/table.ts";
import { type Chance, either, NEVER } from "./chance.ts";
import { depart, type Journey, type Packet } from "./packet.ts";
import { RecentMemory } from "./recent-memory.ts";
import { type Ending, walk } from "./walk.ts";

/** Both tables of one family. */
export interface Tables {
  readonly nat: Table;
  readonly filter: Table;
}

/** The rules of one family, as a backend has programmed them in a model of the kernel. */
export interface Traced {
  /** All outcomes of a packet. `memory`: that of an earlier outcome. */
  trace(packet: Packet, memory?: unknown): Outcome<unknown>[];
  /** Withdraws all imports, while connections to all endpoints are established. */
  withdraw(): void;
}

/** The result of a packet. */
export type Fate =
  | { readonly fate: "sent"; readonly to: string; readonly masquerade: boolean }
  | { readonly fate: "rejected"; readonly with: string }
  | { readonly fate: "dropped" }
  | { readonly fate: "untouched" };

/** The fate of a packet that an nftables rule rejects, as iptables names the error. */
export function rejectedBy(verdict: string): Fate {
  const error = verdict.replace(/^reject with /, "").replace("icmpv6", "icmp6");
  return { fate: "rejected", with: error.replace(" type", "").replace(" ", "-") };
}

/** One possible result of a packet. The chances of all outcomes of a packet add up to one, exactly. */
export interface Outcome<Memory = RecentMemory> {
  readonly fate: Fate;
  readonly chance: Chance;
  /** The recorded clients afterwards. */
  readonly memory: Memory;
  /** Rules evaluated, matching or not. */
  readonly asked: number;
  /** Every rule that matched, in order, as iptables-save prints it. */
  readonly rules: readonly string[];
}

/**
 * All outcomes of a packet: nat PREROUTING and filter FORWARD (from a pod) or nat OUTPUT and filter OUTPUT (from the host), then
 * nat POSTROUTING. The nat table is evaluated for first packets only; later ones are translated like the first.
 */
export function trace(tables: Tables, packet: Packet, memory = new RecentMemory()): Outcome[] {
  const [first, second] = packet.from === "pod" ? ["PREROUTING", "FORWARD"] : ["OUTPUT", "OUTPUT"];
  const start = depart(packet, memory);
  const isFirst = start.state === "NEW";
  const outcomes: Outcome[] = [];
  const through = function* (table: Table, chain: string, journey: Journey) {
    for (const [next, ending] of walk(table, chain, journey)) {
      if (ending === "ACCEPT") yield next;
      else outcomes.push(outcomeOf(next, ending));
    }
  };
  const natted = function* (chain: string, journey: Journey) {
    if (isFirst) yield* through(tables.nat, chain, journey);
    else yield journey;
  };
  for (const routed of natted(first, start)) {
    for (const allowed of through(tables.filter, second, routed)) {
      for (const sent of natted("POSTROUTING", allowed)) outcomes.push(outcomeOf(sent, "ACCEPT"));
    }
  }
  return outcomes;
}

/** The chances of the outcomes by their text, such as `10.1.0.11:8080`, `… masqueraded`, `tcp-reset`. */
export function chancesOf(outcomes: readonly Outcome<unknown>[]): Map<string, Chance> {
  const chances = new Map<string, Chance>();
  for (const { fate, chance } of outcomes) {
    const name = fateText(fate);
    chances.set(name, either(chances.get(name) ?? NEVER, chance));
  }
  return chances;
}

/** A fate in one or two words. */
export function fateText(fate: Fate): string {
  switch (fate.fate) {
    case "sent":
      return fate.masquerade ? `${fate.to} masqueraded` : fate.to;
    case "rejected":
      return fate.with;
    case "dropped":
    case "untouched":
      return fate.fate;
  }
}

function outcomeOf(journey: Journey, ending: Ending): Outcome {
  const { chance, memory, asked, rules } = journey;
  return { fate: fateOf(journey, ending), chance, memory, asked, rules };
}

function fateOf({ destination, port, translated, masqueraded }: Journey, ending: Ending): Fate {
  if (ending === "DROP") return { fate: "dropped" };
  if (ending !== "ACCEPT") return { fate: "rejected", with: ending.reject };
  if (!translated && !masqueraded) return { fate: "untouched" };
  return { fate: "sent", to: textOf(destination.text, port), masquerade: masqueraded };
}
