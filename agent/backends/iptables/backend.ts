import type { ObjectKey } from "../../../api/names.ts";
import type { NftCommits } from "../../system/nft-commits.ts";
import {
  type Backend,
  type Check,
  type CheckScope,
  type Drift,
  type Programmed,
  UNCHANGED,
} from "../backend.ts";
import type { OpenOptions } from "../backend-kind.ts";
import { digitsOf } from "../nft/service-key.ts";
import { RestoreProcess } from "./apply.ts";
import { OWN, serviceChain } from "./chain-name.ts";
import { diff, type IptablesTransaction } from "./diff.ts";
import { type Flavour, type Tools, toolsOf } from "./flavour.ts";
import { JumpOrder, type ListChains } from "./jump-order.ts";
import { chainLister } from "./list.ts";
import { ownersIn } from "./owner.ts";
import { readBack } from "./read.ts";
import { IptablesRuleset, type RulesetOptions } from "./ruleset.ts";
import {
  BASES,
  baseOf,
  type Changes,
  type Found,
  type Jump,
  type KernelState,
  TABLES,
  tableOf,
} from "./state.ts";

/** Options of an iptables backend. */
export interface IptablesOptions extends RulesetOptions, Partial<OpenOptions> {
  readonly flavour: Flavour;
  /** The command that runs the tools in another network namespace; absent for this one. */
  readonly within?: readonly string[];
  /** Counts commits to this namespace's nftables; shared by both families. Absent: every check reads all rules. */
  readonly commits?: NftCommits;
}

/**
 * The iptables backend of one family.
 *
 * Ownership, without memory of an earlier run: chains in nat and filter whose names begin with `CSP-` are ours, and so is
 * every rule in another chain that jumps to one of them.
 */
export class IptablesBackend implements Backend<KernelState, Changes, IptablesTransaction> {
  readonly #options: IptablesOptions;
  readonly #tools: Tools;
  readonly #list: ListChains;
  readonly #order: JumpOrder;
  readonly #restore: RestoreProcess;
  /** What other programs had committed when the last check found no drift. */
  #checkedAt: string | undefined;

  constructor(options: IptablesOptions) {
    this.#options = options;
    this.#tools = toolsOf(options.flavour, options.family, options.within);
    this.#list = chainLister(options.flavour, this.#tools);
    this.#order = new JumpOrder(this.#list);
    this.#restore = new RestoreProcess(this.#tools.restore, options.onRespawn, options.keep);
  }

  ruleset(): IptablesRuleset {
    return new IptablesRuleset(this.#options);
  }

  empty(): KernelState {
    return { chains: new Map(), jumps: [] };
  }

  programmed(state: KernelState): Programmed {
    return programmed(state);
  }

  /** Chains of ours have names of our own: no foreign object can be in their place. */
  conflicts(): readonly [] {
    return [];
  }

  diff(state: KernelState, changes: Changes): Generator<void, IptablesTransaction> {
    return diff(state, changes);
  }

  compare(before: KernelState, found: KernelState): Drift[] {
    return compare(before, found);
  }

  async read(stop?: AbortSignal): Promise<KernelState> {
    this.#restore.warm();
    const { state, bases } = await readBack(this.#tools, stop, new Map());
    return { ...state, behind: await this.#order.afresh(state.jumps, bases, stop) };
  }

  /** Compares all rules; with nft only if another program has committed anything since they were last as they should be. */
  async check(
    state: KernelState,
    scope: CheckScope = "all",
    stop?: AbortSignal,
  ): Promise<Check<IptablesTransaction>> {
    const { commits } = this.#options;
    const others = await commits?.ofOthers();
    if (others !== undefined && others === this.#checkedAt) return UNCHANGED;
    const reading = others === undefined ? "routine" : "prompted";
    if (scope === "gone")
      return { drift: await missingJumps(state, this.#list, stop), garbage: undefined, reading };
    const drift = await check(state, await readBack(this.#tools, stop), this.#order, stop);
    this.#checkedAt = drift.length === 0 ? others : undefined;
    return { drift, garbage: undefined, reading };
  }

  async apply(tx: IptablesTransaction, state: KernelState): Promise<void> {
    const run = async () => {
      await this.#restore.run(tx.pieces());
      return tx.commits;
    };
    const { commits } = this.#options;
    await (commits === undefined ? run() : commits.run(run));
    tx.settle(state);
  }

  close(): Promise<void> {
    return this.#restore.close();
  }
}

const SERVICE_CHAIN = `nat ${OWN}SVC-`;

/** The services whose chain the kernel holds. PURE. */
export function programmed({ chains, entries }: KernelState): Programmed {
  let holders: ReadonlyMap<string, ObjectKey> | undefined;
  return {
    get size() {
      return [...chains.keys()].filter((key) => key.startsWith(SERVICE_CHAIN)).length;
    },
    holder: (vip) => {
      const [address = ""] = digitsOf([vip]);
      holders ??= new Map(
        [...(entries ?? [])].map(([place, key]) => [place.slice(0, place.indexOf(" ")), key]),
      );
      return holders.get(address);
    },
    destinations: entries?.keys() ?? [],
    has: (service) => chains.has(`nat ${serviceChain(service)}`),
  };
}

/** The jumps that are gone. A program that flushes or replaces a table deletes them, and listing built-in chains is fast. Rejects as the lister does. */
async function missingJumps(
  { jumps }: KernelState,
  list: ListChains,
  stop?: AbortSignal,
): Promise<Drift[]> {
  if (jumps.length === 0) return [];
  const bases = await list(BASES, () => true, stop);
  const expected = jumps.filter((jump) => bases.get(baseOf(jump)) !== undefined);
  const rules = new Set(
    [...bases].flatMap(([key, lines = []]) =>
      lines.map((line): Jump => `${tableOf(key)[0]} ${line.slice(3)}`),
    ),
  );
  const state = { chains: new Map(), jumps: expected.filter((jump) => rules.has(jump)) };
  const drift = compare({ chains: new Map(), jumps: expected }, state);
  return drift.map((one) => suspected(one, { state, bases }));
}

/** Compares everything that was read with the cached state, and finds jumps behind rules that take their packets. */
export async function check(
  state: KernelState,
  found: Found,
  order: JumpOrder,
  stop?: AbortSignal,
): Promise<Drift[]> {
  const behind = await order.again(found.state.jumps, found.bases, stop);
  const drift = compare(state, { ...found.state, behind });
  const all = drift.map((one) => suspected(one, found));
  // The log names only the first.
  return [...all.filter((one) => one.suspect), ...all.filter((one) => !one.suspect)];
}

/** A table without any of our jumps was flushed: the owners of its present rules are suspects. */
function suspected(drift: Drift, { state: { jumps }, bases }: Found): Drift {
  const table = TABLES.find((each) => drift.what.startsWith(`${each} `));
  if (drift.suspect !== undefined || jumps.some((jump) => tableOf(jump)[0] === table)) return drift;
  const left = BASES.filter((key) => tableOf(key)[0] === table);
  const suspect = ownersIn(left.flatMap((key) => bases.get(key) ?? []));
  return suspect === undefined ? drift : { ...drift, suspect };
}

/**
 * What other programs changed between two reads without a transaction of ours in between. Additional chains with our prefix
 * are no drift: the next complete pass deletes them.
 */
export function compare(before: KernelState, found: KernelState): Drift[] {
  const drift: Drift[] = [];
  for (const [key, digest] of before.chains) {
    const now = found.chains.get(key);
    if (now === digest) continue;
    drift.push({ reason: now === undefined ? "chain-missing" : "chain-changed", what: key });
  }
  const left = new Set(found.jumps);
  for (const jump of new Set(before.jumps)) {
    const suspect = found.behind?.get(jump);
    if (!left.has(jump)) drift.push({ reason: "jump-missing", what: jump });
    else if (suspect !== undefined) drift.push({ reason: "jump-behind", what: jump, suspect });
  }
  const expected = [...before.jumps];
  for (const jump of found.jumps) {
    const at = expected.indexOf(jump);
    if (at >= 0) expected.splice(at, 1);
    else drift.push({ reason: "jump-extra", what: jump });
  }
  return drift;
}
