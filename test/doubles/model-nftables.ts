import assert from "node:assert/strict";
import { finished } from "../../agent/backends/backend.ts";
import { believedState, type Listing, stateOf } from "../../agent/backends/nftables/listing.ts";
import { SETS } from "../../agent/backends/nftables/sets.ts";
import { type KernelState, nothing } from "../../agent/backends/nftables/state.ts";
import type { NftablesTransaction } from "../../agent/backends/nftables/transaction.ts";
import type { Element } from "../../agent/system/nftables/element.ts";

/** A chain of the model: its hook, if it is a base chain, and its rules with comments. */
export interface ModelChain {
  hook?: string;
  rules: string[];
}

/** A model of the kernel for the transactions of the nftables backend: a wrong one throws, and changes nothing. */
export class ModelNftables {
  chains = new Map<string, ModelChain>();
  /** Elements of the agent's sets. */
  elements = new Map<string, Map<string, Element>>();
  /** Elements of maps of verdicts, as nft writes them. */
  branches = new Map<string, Map<string, string>>();
  #exists = false;

  run(tx: NftablesTransaction): void {
    const before = structuredClone({ ...this.#all });
    try {
      for (const line of tx.skeleton.split("\n")) if (line !== "") this.#command(line);
      for (const group of tx.groups) {
        for (const change of group) {
          const set = this.elements.get(change.set.name) ?? assert.fail(change.set.name);
          if (change.kind === "delete")
            for (const key of change.keys) assert.ok(set.delete(key), `no element ${key}`);
          else
            for (const element of change.elements) {
              assert.ok(!set.has(element.key), `element ${element.key} exists`);
              set.set(element.key, element);
            }
        }
      }
      this.#checkBranches();
    } catch (error) {
      this.#all = before;
      throw error;
    }
  }

  /** Deletes chains that a transaction calls garbage. */
  collect({ garbage }: NftablesTransaction): void {
    for (const line of garbage.split("\n")) if (line !== "") this.#command(line);
    this.#checkBranches();
  }

  /** What a complete read returns. */
  read(): KernelState {
    return this.#exists ? finished(stateOf(...this.#listing)) : nothing();
  }

  /** What a new process believes. */
  believed(): KernelState | undefined {
    return this.#exists ? finished(believedState(...this.#listing)) : nothing();
  }

  get #listing(): [Listing, string[]] {
    const names = Object.keys(SETS) as (keyof typeof SETS)[];
    const listing = names.map((name) => [name, [...(this.elements.get(name)?.values() ?? [])]]);
    const comments = [...this.chains.values()].flatMap(({ rules }) =>
      rules.map((rule) => / comment "(.*)"$/.exec(rule)?.[1] ?? ""),
    );
    return [Object.fromEntries(listing) as Listing, comments];
  }

  get #all() {
    const { chains, elements, branches } = this;
    return { chains, elements, branches, exists: this.#exists };
  }

  set #all({ chains, elements, branches, exists }) {
    Object.assign(this, { chains, elements, branches });
    this.#exists = exists;
  }

  #command(line: string): void {
    const [, verb, kind, name = "", rest = ""] =
      /^(\S+) (\S+) ip6? clusterset-proxy ?(\S*) ?(.*)$/.exec(line) ?? assert.fail(line);
    const chain = () => this.chains.get(name) ?? assert.fail(`no chain ${name}`);
    if (verb === "add" && kind === "table") this.#exists = true;
    else if (verb === "delete" && kind === "table") this.#all = { ...new ModelNftables().#all };
    else if (verb === "flush" && kind === "map") this.branches.get(name)?.clear();
    else if (kind === "map" || kind === "set") this.#addSet(name, rest);
    else if (verb === "add" && kind === "chain") {
      const hook = /^\{ type (.*); policy accept; \}$/.exec(rest)?.[1];
      if (hook !== undefined) assert.ok(!this.chains.has(name), line);
      if (!this.chains.has(name)) this.chains.set(name, { rules: [], ...(hook && { hook }) });
    } else if (verb === "flush" && kind === "chain") chain().rules = [];
    else if (verb === "delete" && kind === "chain") this.chains.delete(name);
    else if (verb === "add" && kind === "rule") chain().rules.push(rest);
    else if (verb === "add" && kind === "element") {
      const [, number = "", verdict = ""] = /^\{ (\S+) : (.*) \}$/.exec(rest) ?? assert.fail(line);
      (this.branches.get(name) ?? assert.fail(line)).set(number, verdict);
    } else if (verb === "delete" && kind === "element") {
      const [, number = ""] = /^\{ (\S+) \}$/.exec(rest) ?? assert.fail(line);
      assert.ok(this.branches.get(name)?.delete(number), line);
    } else assert.fail(`unknown command: ${line}`);
  }

  #addSet(name: string, type: string): void {
    const into: Map<string, Map<string, unknown>> = type.includes(": verdict")
      ? this.branches
      : this.elements;
    if (!into.has(name)) into.set(name, new Map());
  }

  /** The kernel rejects a jump to a chain that does not exist. */
  #checkBranches(): void {
    const texts = [...this.branches.values()].flatMap((some) => [...some.values()]);
    for (const { rules } of this.chains.values()) texts.push(...rules);
    for (const text of texts) {
      const [, target] = /(?:^|\s)(?:goto|jump) (\S+)/.exec(text) ?? [];
      if (target !== undefined) assert.ok(this.chains.has(target), `no chain ${target}`);
    }
  }
}
