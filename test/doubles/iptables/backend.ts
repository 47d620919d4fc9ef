import type { Dataplane, Found } from "../../../agent/backends/dataplane.ts";
import type { IptablesCommands } from "../../../agent/backends/iptables/commands.ts";
import { JumpOrder, type ListChains } from "../../../agent/backends/iptables/jump-order.ts";
import { IptablesLayout } from "../../../agent/backends/iptables/layout.ts";
import { foundOf, SaveParser } from "../../../agent/backends/iptables/listing.ts";
import { BASES, isJump, TABLES, tableOf } from "../../../agent/backends/iptables/object-id.ts";
import type { RulesOptions } from "../../../agent/backends/iptables/rendering.ts";
import type { Rules } from "../../../agent/backends/iptables/rules.ts";
import type { Held } from "../../../agent/backends/objects.ts";
import { FakeIptables } from "./iptables.ts";

/** iptables over a fake kernel: all of it but the processes. */
export class FakeIptablesDataplane implements Dataplane<Rules, IptablesCommands> {
  readonly layout: IptablesLayout;
  readonly kernel: FakeIptables;
  readonly #list: ListChains;
  readonly #order: JumpOrder;

  constructor(options: RulesOptions, kernel = new FakeIptables(options.family)) {
    this.layout = new IptablesLayout(options);
    this.kernel = kernel;
    this.#list = listerOf(kernel);
    this.#order = new JumpOrder(this.#list);
  }

  async read(): Promise<Found> {
    const bases = await this.#list(BASES, () => true, undefined);
    const held = heldBy(this.kernel);
    const behind = await this.#order.evaluate([...held.keys()].filter(isJump), bases);
    return foundOf(held, bases, behind);
  }

  async write(commands: IptablesCommands): Promise<ReadonlySet<string>> {
    const { exitCode, stderr } = this.kernel.restore(commands.toString());
    if (exitCode !== 0) throw new Error(`exit status ${exitCode}: ${stderr}`);
    return new Set();
  }

  async changes(): Promise<undefined> {
    return undefined;
  }

  async close(): Promise<void> {
    // There is no process to end.
  }
}

/** What the agent reads back from a fake kernel. */
export function heldBy(kernel: FakeIptables): Held {
  const held: Held = new Map();
  for (const table of TABLES) {
    const parser = new SaveParser(table, held);
    for (const line of kernel.save(table).split("\n")) parser.line(line);
    parser.end();
  }
  return held;
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
