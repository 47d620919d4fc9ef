import assert from "node:assert/strict";
import { finished } from "../../agent/backends/backend.ts";
import { type NftablesCommands, NftablesLayout } from "../../agent/backends/nftables/layout.ts";
import {
  believedObjects,
  chainObjects,
  type Listing,
  markOf,
  serviceObjects,
} from "../../agent/backends/nftables/listing.ts";
import { SETS, type SkeletonOptions } from "../../agent/backends/nftables/sets.ts";
import type { Held } from "../../agent/backends/objects.ts";
import type { Element } from "../../agent/system/nftables/element.ts";
import { parseElement } from "../../agent/system/nftables/text.ts";
import { pureTable } from "./pure-table.ts";

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
  readonly #options: SkeletonOptions;

  constructor(options: SkeletonOptions) {
    this.#options = options;
  }

  run({ commands }: { readonly commands: NftablesCommands }): void {
    const before = copyOf(this.#all);
    try {
      for (const line of commands.skeleton.split("\n")) if (line !== "") this.#command(line);
      for (const group of commands.groups) {
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
      for (const line of commands.retired.split("\n")) if (line !== "") this.#command(line);
      for (const line of commands.garbage.split("\n")) if (line !== "") this.#command(line);
      this.#checkBranches();
    } catch (error) {
      this.#all = before;
      throw error;
    }
  }

  /** What a complete read returns. */
  read(options: SkeletonOptions = this.#options): Held {
    return new Map([...this.#chainObjects(options), ...finished(serviceObjects(this.#listing))]);
  }

  /** What a new process believes. */
  believed(options: SkeletonOptions = this.#options): Held | undefined {
    const services = finished(believedObjects(this.#listing));
    return services && new Map([...this.#chainObjects(options), ...services]);
  }

  #chainObjects(options: SkeletonOptions): Held {
    const marks = [...this.chains].flatMap(([name, { rules }]) =>
      rules.map((rule) => markOf(name, / comment "(.*)"$/.exec(rule)?.[1] ?? "")),
    );
    return chainObjects(options, { marks, elementsOf: (set) => this.#elementsOf(set) });
  }

  #elementsOf(set: string): (Element | undefined)[] | undefined {
    const elements = this.elements.get(set);
    if (elements !== undefined) return [...elements.values()];
    const branches = this.branches.get(set);
    const number = (text: string) =>
      parseElement({ name: set, key: ["number"] }, { fields: [text], value: [], comment: "" });
    return (
      branches &&
      [...branches].map(([key, value]) => ({ ...(number(key) ?? assert.fail(key)), value }))
    );
  }

  get #listing(): Listing {
    const names = Object.keys(SETS) as (keyof typeof SETS)[];
    const listing = names.map((name) => [name, [...(this.elements.get(name)?.values() ?? [])]]);
    return Object.fromEntries(listing) as Listing;
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
    else if (verb === "delete" && kind === "table")
      this.#all = { ...new ModelNftables(this.#options).#all };
    else if (verb === "flush" && kind === "map") this.branches.get(name)?.clear();
    else if (kind === "map" || kind === "set") this.#addSet(name, rest);
    else if (verb === "add" && kind === "chain") {
      const hook = /^\{ type (.*); policy accept; \}$/.exec(rest)?.[1];
      if (hook !== undefined) assert.ok(!this.chains.has(name), line);
      if (!this.chains.has(name)) this.chains.set(name, { rules: [], ...(hook && { hook }) });
    } else if (verb === "flush" && kind === "chain") chain().rules = [];
    else if (verb === "delete" && kind === "chain") assert.ok(this.chains.delete(name), line);
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

type All = Pick<ModelNftables, "chains" | "elements" | "branches"> & { readonly exists: boolean };

function copyOf({ chains, elements, branches, exists }: All): All {
  const copies = <Value>(maps: ReadonlyMap<string, ReadonlyMap<string, Value>>) =>
    new Map([...maps].map(([name, map]) => [name, new Map(map)]));
  return {
    chains: new Map([...chains].map(([name, one]) => [name, { ...one, rules: [...one.rules] }])),
    ...{ elements: copies(elements), branches: copies(branches), exists },
  };
}

/** The pure part of the nftables backend. */
export function nftablesBackend(options: SkeletonOptions) {
  return pureTable(new NftablesLayout(options));
}
