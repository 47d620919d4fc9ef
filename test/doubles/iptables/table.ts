import type { Family } from "../../../api/address.ts";
import { Refused, UnknownGrammar } from "./faults.ts";
import type { Rule } from "./rule.ts";

/** The supported tables, in the order of iptables-save. */
export const TABLES = ["filter", "nat"] as const;
/** One of `TABLES`. */
export type TableName = (typeof TABLES)[number];

/** The chains that the kernel itself calls, in the order in which iptables-save prints them. */
export const BASE_CHAINS: Readonly<Record<TableName, readonly string[]>> = {
  filter: ["INPUT", "FORWARD", "OUTPUT"],
  nat: ["PREROUTING", "INPUT", "OUTPUT", "POSTROUTING"],
};

/** XT_EXTENSION_MAXNAMELEN - 1. */
const CHAIN_NAME_BYTES = 28;

/** What a base chain does with a packet that no rule decided. */
export type Policy = "ACCEPT" | "DROP";

/** A chain; never changed in place, so that copies of a table may share it. */
export interface Chain {
  /** Absent for a chain of a user. */
  readonly policy?: Policy;
  readonly rules: readonly Rule[];
}

/** One table of one family, with the verbs of iptables; each throws `Refused` as the tool would. */
export class Table {
  readonly family: Family;
  readonly table: TableName;
  readonly #chains: Map<string, Chain>;

  constructor(family: Family, table: TableName, chains?: ReadonlyMap<string, Chain>) {
    this.family = family;
    this.table = table;
    this.#chains = new Map(
      chains ?? BASE_CHAINS[table].map((name) => [name, { policy: "ACCEPT", rules: [] }]),
    );
  }

  get chains(): ReadonlyMap<string, Chain> {
    return this.#chains;
  }

  /** A copy to try a transaction on. */
  copy(): Table {
    return new Table(this.family, this.table, this.#chains);
  }

  hasChain(name: string): boolean {
    return this.#chains.has(name);
  }

  /** `:CHAIN POLICY`: creates or empties a user's chain; sets the policy of a base chain. */
  declare(name: string, policy: string): void {
    const base = this.#chains.get(name)?.policy !== undefined;
    if (!base && policy === "-") {
      if (!this.#chains.has(name)) checkChainName(name);
      this.#chains.set(name, { rules: [] });
    } else if (base && policy !== "-") {
      if (policy !== "ACCEPT" && policy !== "DROP") throw new UnknownGrammar(`policy ${policy}`);
      this.#chains.set(name, { ...this.chain(name), policy });
    } else if (!base) {
      throw new UnknownGrammar(`policy ${policy} of ${name}`);
    }
  }

  /** `-A`. */
  append(name: string, rule: Rule): void {
    const chain = this.chain(name);
    this.#chains.set(name, { ...chain, rules: [...chain.rules, rule] });
  }

  /** `-I`, in the first place. */
  insert(name: string, position: number, rule: Rule): void {
    const chain = this.chain(name);
    if (position !== 1) throw new UnknownGrammar(`-I ${name} ${position}`);
    this.#chains.set(name, { ...chain, rules: [rule, ...chain.rules] });
  }

  /** `-D CHAIN rule`: the first rule that reads the same. */
  deleteRule(name: string, rule: Rule): void {
    const chain = this.chain(name);
    const at = chain.rules.findIndex(({ text }) => text === rule.text);
    if (at < 0) throw new Refused("sanity", "Bad rule (does a matching rule exist in that chain?)");
    this.#chains.set(name, { ...chain, rules: chain.rules.toSpliced(at, 1) });
  }

  /** `-F`, of one chain or of all. */
  flush(name?: string): void {
    const names = name === undefined ? [...this.#chains.keys()] : [name];
    for (const each of names) this.#chains.set(each, { ...this.chain(each), rules: [] });
  }

  /** `-X`. */
  remove(name: string): void {
    const { rules, policy } = this.chain(name);
    // Legacy refuses; nft takes the hook away, and with it all that others have there.
    if (policy) throw new UnknownGrammar(`-X ${name}`);
    if (rules.length > 0 || this.#isReferenced(name)) {
      throw new Refused("kernel", `chain ${name}: Device or resource busy`);
    }
    this.#chains.delete(name);
  }

  /** The chain `name`; refuses a name that there is not. */
  chain(name: string): Chain {
    const chain = this.#chains.get(name);
    if (!chain) throw new Refused("sanity", "No chain/target/match by that name");
    return chain;
  }

  #isReferenced(name: string): boolean {
    return this.#chains
      .values()
      .some(({ rules }) =>
        rules.some(
          ({ target }) => target !== undefined && "chain" in target && target.chain === name,
        ),
      );
  }
}

function checkChainName(name: string): void {
  // The tools take almost anything else; shells, people and our own reader do not.
  const isKnown = /^\w[\w.:/-]*$/.test(name) && name.length <= CHAIN_NAME_BYTES;
  const isTarget = ["ACCEPT", "DROP", "RETURN", "QUEUE"].includes(name);
  if (!isKnown || isTarget) throw new UnknownGrammar(`chain name ${name}`);
}
