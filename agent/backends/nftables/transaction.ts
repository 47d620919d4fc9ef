import type { Family } from "../../../api/address.ts";
import type { ElementChange } from "../../system/nftables/element.ts";
import { renderChange } from "../../system/nftables/text.ts";
import type { Transaction } from "../backend.ts";
import { change, type ElementChanges } from "../nft/elements.ts";
import type { ServiceKey } from "../nft/service-key.ts";
import { marksWithout } from "./marks.ts";
import { tableOf } from "./sets.ts";
import type { KernelService, KernelState } from "./state.ts";

/** Changes that become live together, such as those of one service. */
export type ElementGroup = readonly ElementChange[];

/** The parts of a transaction, and the state after them. */
export interface TransactionParts {
  readonly family: Family;
  /** True if the table is deleted first. */
  readonly replaces: boolean;
  /** Input of nft that comes before the elements; empty if the skeleton stays. */
  readonly text: string;
  readonly groups: readonly ElementGroup[];
  /** Changed services, as they are afterwards. */
  readonly services: ReadonlyMap<ServiceKey, KernelService | undefined>;
  readonly explicit: ElementChanges;
  /** Sorted. */
  readonly rules: readonly string[];
  /** Extra chains that an earlier transaction has retired, and input of nft that deletes them. */
  readonly deleted: { readonly chains: ReadonlySet<string>; readonly text: string };
}

/** A change of the skeleton by nft, and of elements by netlink. Each group of changes is atomic, and so is the skeleton. */
export class NftablesTransaction implements Transaction {
  readonly #parts: TransactionParts;

  constructor(parts: TransactionParts) {
    this.#parts = parts;
  }

  /** Input of nft for the skeleton; empty if it stays. */
  get skeleton(): string {
    const { family, replaces, text } = this.#parts;
    if (!replaces) return text;
    const table = tableOf(family);
    return `add table ${table}\ndelete table ${table}\n${text}`;
  }

  /** Input of nft that deletes chains without use, after all else: the kernel may reject it. */
  get garbage(): string {
    return this.#parts.deleted.text;
  }

  get groups(): readonly ElementGroup[] {
    return this.#parts.groups;
  }

  get empty(): boolean {
    return this.groups.length === 0 && this.skeleton === "" && this.garbage === "";
  }

  get writes(): number {
    const rules = this.skeleton.split("\n").filter((line) => line.startsWith("add rule "));
    return rules.length + this.#count("add");
  }

  get deletes(): number {
    return this.#count("delete");
  }

  /** Updates the cached state after the kernel has accepted the transaction. */
  settle(state: KernelState): void {
    const { replaces, services, explicit, rules } = this.#parts;
    if (replaces) for (const set of [state.services, state.explicit]) set.clear();
    for (const [key, service] of services) {
      if (service === undefined) state.services.delete(key);
      else state.services.set(key, service);
    }
    change(state.explicit, explicit);
    state.rules = rules;
    state.foreign = false;
  }

  /** Updates the cached state after the kernel has accepted `garbage`, too. */
  settleGarbage(state: KernelState): void {
    state.rules = marksWithout(state.rules, this.#parts.deleted.chains);
  }

  /** As input of nft. */
  toString(): string {
    const { family, groups } = this.#parts;
    return (
      this.skeleton + groups.map((group) => renderGroup(family, group)).join("") + this.garbage
    );
  }

  #count(kind: ElementChange["kind"]): number {
    const changes = this.groups.flat();
    return changes.reduce((sum, one) => {
      if (one.kind !== kind) return sum;
      return sum + (one.kind === "add" ? one.elements.length : one.keys.length);
    }, 0);
  }
}

/** Input of nft that makes these changes. PURE. */
export function renderGroup(family: Family, group: ElementGroup): string {
  return group.map((one) => renderChange(tableOf(family), one)).join("");
}
