import { addressFromHex, type Family } from "../../../api/address.ts";
import { NftCommits } from "../../system/nft-commits.ts";
import { NftProcess } from "../../system/nft-process.ts";
import {
  type Backend,
  type Check,
  type CheckScope,
  type Drift,
  type Programmed,
  UNCHANGED,
} from "../backend.ts";
import type { OpenOptions } from "../backend-kind.ts";
import { digitsOf, keysOf, type ServiceKey } from "../nft/service-key.ts";
import { ServiceRuleset } from "../nft/service-ruleset.ts";
import { removeGarbage, runTransaction } from "./apply.ts";
import { diff } from "./diff.ts";
import { listRules, readBack } from "./read.ts";
import { renderService } from "./render.ts";
import { type SkeletonOptions, tableOf } from "./sets.ts";
import {
  type Changes,
  type DesiredService,
  importOf,
  type KernelService,
  type KernelState,
  nothing,
} from "./state.ts";
import type { NftablesTransaction } from "./transaction.ts";

/** Options of an nftables backend. */
export interface NftablesOptions extends SkeletonOptions, Partial<OpenOptions> {
  /** Counts commits to this namespace's nftables; shared by both families. */
  readonly commits?: NftCommits;
}

/** The nftables backend of one family. Ownership, without memory of an earlier run: everything in the table `clusterset-proxy` is ours. */
export class NftablesBackend implements Backend<KernelState, Changes, NftablesTransaction> {
  readonly #options: NftablesOptions;
  readonly #nft: NftProcess;
  /** Transactions begun. */
  #applied = 0;
  readonly #commits: NftCommits;
  /** What other programs had committed when the last check found no drift. */
  #checkedAt: string | undefined;
  /** Whether endpoints are what the digests of their services say: until something was applied, or a check has read them. */
  #believes = true;
  /** What a check that found drift has read, as long as nothing was committed since: the repair reads the same. */
  #found: { readonly others: string; readonly state: KernelState } | undefined;

  constructor(options: NftablesOptions) {
    this.#options = options;
    this.#nft = new NftProcess(options);
    this.#commits = options.commits ?? new NftCommits();
  }

  ruleset(): NftablesRuleset {
    return new NftablesRuleset();
  }

  empty(): KernelState {
    return nothing();
  }

  programmed(state: KernelState): Programmed {
    return programmed(state);
  }

  /** The table is ours: no foreign object can be in the place of an element. */
  conflicts(): readonly [] {
    return [];
  }

  diff(state: KernelState, changes: Changes): Generator<void, NftablesTransaction> {
    return diff(state, changes, this.#options);
  }

  compare(before: KernelState, found: KernelState): Drift[] {
    return compare(before, found, this.#options.family);
  }

  /** Without the endpoints at a start: a hundred thousand would take more than a second. The first check reads them. */
  async read(stop?: AbortSignal): Promise<KernelState> {
    const found = this.#found;
    this.#found = undefined;
    if (found !== undefined && found.others === (await this.#commits.ofOthers()))
      return found.state;
    return readBack(this.#options.family, this.#believes ? "believed" : "read", stop);
  }

  /** Compares everything if another program has committed anything since it was last as it should be. */
  async check(
    state: KernelState,
    scope: CheckScope = "all",
    stop?: AbortSignal,
  ): Promise<Check<NftablesTransaction>> {
    const others = await this.#commits.ofOthers();
    if (others !== undefined && others === this.#checkedAt) return UNCHANGED;
    const { family } = this.#options;
    const reading = others === undefined ? "routine" : "prompted";
    if (scope === "gone")
      return { drift: await missing(state, family, stop), garbage: undefined, reading };
    const applied = this.#applied;
    this.#believes = false;
    const found = await readBack(family, "read", stop);
    const drift = compare(state, found, family);
    const isSame = drift.length === 0;
    this.#checkedAt = isSame ? others : undefined;
    if (!isSame && others !== undefined && applied === this.#applied)
      this.#found = { others, state: found };
    return { drift, garbage: undefined, reading };
  }

  async apply(tx: NftablesTransaction, state: KernelState): Promise<void> {
    this.#applied++;
    this.#believes = false;
    this.#found = undefined;
    await runTransaction(this.#options.family, tx, this.#nft, this.#commits);
    tx.settle(state);
    if (await removeGarbage(tx, this.#nft, this.#commits)) tx.settleGarbage(state);
  }

  close(): Promise<void> {
    return this.#nft.close();
  }
}

/** The desired elements of one family. */
export class NftablesRuleset extends ServiceRuleset<DesiredService> {
  constructor() {
    super(renderService);
  }
}

/** The services with endpoints in the kernel. PURE. */
function programmed({ services }: KernelState): Programmed {
  const isForwarded = (key: ServiceKey) => !(services.get(key)?.head ?? "0 ").startsWith("0 ");
  let holders: ReadonlyMap<string, string> | undefined;
  return {
    get size() {
      const found = [...services].flatMap(([key, { head }]) =>
        head !== undefined && isForwarded(key)
          ? [`${importOf(head)} ${key.slice(key.indexOf(" "))}`]
          : [],
      );
      return new Set(found).size;
    },
    holder: (vip) => {
      const [address = ""] = digitsOf([vip]);
      holders ??= new Map(
        [...services].flatMap(([key, { head }]) =>
          head === undefined ? [] : [[key.slice(0, key.indexOf(" ")), head] as const],
        ),
      );
      return importOf(holders.get(address) ?? "");
    },
    destinations: services.keys(),
    has: (service) => keysOf(service).some(isForwarded),
  };
}

/** The table, if rules of it are gone. A program that flushes or deletes the table deletes them. Rejects as `listRules` does. */
async function missing(before: KernelState, family: Family, stop?: AbortSignal): Promise<Drift[]> {
  if (before.rules.length === 0) return [];
  const found = new Set(await listRules(family, stop));
  const what = `table ${tableOf(family)}`;
  if (found.size === 0) return [{ reason: "table-missing", what }];
  const isWhole = before.rules.every((rule) => found.has(rule));
  return isWhole ? [] : [{ reason: "table-changed", what }];
}

/** What other programs changed between two reads without a transaction of ours in between. PURE. */
export function compare(before: KernelState, found: KernelState, family: Family): Drift[] {
  if (before.rules.length === 0) return [];
  const table = `table ${tableOf(family)}`;
  if (found.rules.length === 0) return [{ reason: "table-missing", what: table }];
  const sameRules = before.rules.join("\n") === found.rules.join("\n");
  const sameSets = !found.foreign && before.explicit.symmetricDifference(found.explicit).size === 0;
  return [
    ...(sameRules && sameSets ? [] : [{ reason: "table-changed", what: table } as const]),
    ...compareServices(before, found),
  ];
}

function compareServices(before: KernelState, found: KernelState): Drift[] {
  const drift: Drift[] = [];
  for (const [key, service] of before.services) {
    const now = found.services.get(key);
    const what = serviceText(key);
    if (now === undefined || !isSame(service, now))
      drift.push({ reason: "elements-changed", what });
  }
  for (const key of found.services.keys())
    if (!before.services.has(key))
      drift.push({ reason: "elements-changed", what: serviceText(key) });
  return drift;
}

function isSame(a: KernelService, b: KernelService): boolean {
  return a.head === b.head && a.affinity === b.affinity && a.digest === b.digest;
}

function serviceText(key: ServiceKey): string {
  const [address = "", protocol, port] = key.split(" ");
  return `${protocol} ${addressFromHex(address).text} ${port}`;
}
