import type { Backend, Drift } from "../../agent/backends/backend.ts";
import { MASQUERADE, serviceChain } from "../../agent/backends/iptables/chain-name.ts";
import { check } from "../../agent/backends/iptables/check.ts";
import { compare } from "../../agent/backends/iptables/compare.ts";
import { diff, type IptablesTransaction } from "../../agent/backends/iptables/diff.ts";
import { Judge, type ListChains } from "../../agent/backends/iptables/judge.ts";
import { SaveParser } from "../../agent/backends/iptables/parse.ts";
import { IptablesRuleset, type RulesetOptions } from "../../agent/backends/iptables/ruleset.ts";
import { countServices, StandingServices } from "../../agent/backends/iptables/standing.ts";
import {
  type Believed,
  type ChainKey,
  type Changes,
  TABLES,
  tableOf,
} from "../../agent/backends/iptables/tables.ts";
import type { VirtualService } from "../../agent/plan/virtual-service.ts";
import { FakeIptables } from "./iptables.ts";

/** The iptables backend over a fake kernel: all of it but the processes. */
export class FakeIptablesBackend implements Backend<Believed, Changes, IptablesTransaction> {
  readonly name = "iptables";
  readonly kernel: FakeIptables;
  readonly #options: RulesetOptions;
  readonly #list: ListChains;
  readonly #judge: Judge;

  constructor(options: RulesetOptions, kernel = new FakeIptables(options.family)) {
    this.#options = options;
    this.kernel = kernel;
    this.#list = listerOf(kernel);
    this.#judge = new Judge(this.#list);
  }

  ruleset(): IptablesRuleset {
    return new IptablesRuleset(this.#options);
  }

  diff(believed: Believed, changes: Changes): IptablesTransaction {
    return diff(believed, changes);
  }

  has(believed: Believed, service: VirtualService): boolean {
    return believed.chains.has(`nat ${serviceChain(service)}`);
  }

  count(believed: Believed): number {
    return countServices(believed);
  }

  async standing(): Promise<readonly VirtualService[]> {
    const masquerade: ChainKey = `nat ${MASQUERADE}`;
    const listing = await this.#list([masquerade], () => true, undefined);
    const parser = new StandingServices(this.#options.family, listing.get(masquerade) ?? []);
    for (const line of this.kernel.save("nat").split("\n")) parser.line(line);
    return parser.services();
  }

  nothing(): Believed {
    return { chains: new Map(), jumps: [] };
  }

  async read(): Promise<Believed> {
    const believed = believedOf(this.kernel);
    return { ...believed, behind: await this.#judge.afresh(believed.jumps) };
  }

  compare(before: Believed, found: Believed): Drift[] {
    return compare(before, found);
  }

  check(believed: Believed): Promise<readonly Drift[]> {
    return check(believed, this.#list, this.#judge);
  }

  async apply(tx: IptablesTransaction, believed: Believed): Promise<void> {
    const { exitCode, stderr } = this.kernel.restore(tx.toString());
    if (exitCode !== 0) throw new Error(`exit status ${exitCode}: ${stderr}`);
    tx.settle(believed);
  }

  async close(): Promise<void> {
    // There is no process to end.
  }
}

/** What the agent reads back from a fake kernel. */
export function believedOf(kernel: FakeIptables): Believed {
  const believed: Believed = { chains: new Map(), jumps: [] };
  for (const table of TABLES) {
    const parser = new SaveParser(table);
    for (const line of kernel.save(table).split("\n")) parser.line(line);
    parser.into(believed);
  }
  return believed;
}

/** Lists chains of a fake kernel. */
function listerOf(kernel: FakeIptables): ListChains {
  return async (keys, keep) =>
    new Map(
      keys.map((key) => {
        const [name, chain] = tableOf(key);
        const table = kernel.table(name);
        if (!table.hasChain(chain)) return [key, undefined];
        const lines = table.chain(chain).rules.map(({ text }) => `-A ${chain} ${text}`.trimEnd());
        return [key, lines.filter(keep)];
      }),
    );
}
