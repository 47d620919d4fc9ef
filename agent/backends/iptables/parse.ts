import { isAddress, parseAddress } from "../../../api/address.ts";
import { type ObjectKey, objectKey } from "../../../api/names.ts";
import { HAIRPIN, OWN } from "./chain-name.ts";
import { type ChainKey, digestOf, type KernelState, type Table } from "./state.ts";

const HAIRPINS: ChainKey = `nat ${HAIRPIN}`;
const NO_RULES = digestOf([]);
/** A rule for a VIP and port, with the import in its comment. */
const ENTRY =
  /^-A \S+ -d ([^ /]+)\/\S+ -p (\w+) .*--dport (\d+) .*--comment "?([^ :/"]+)\/([^ :/"]+):/;
const LEADS_TO_OURS = new RegExp(` -[jg] ${OWN}`);

/**
 * Parses the listing of one table and keeps what is ours: chains with our prefix, with digests of their rules, and jumps to
 * them. iptables-save prints a chain's rules together, so only one chain's text is in memory.
 */
export class SaveParser {
  readonly #table: Table;
  readonly #state: KernelState;
  /** The present chain, and its rules so far. */
  #chain: ChainKey;
  #rules: string[] = [];

  /** `state`: where the result is added. */
  constructor(table: Table, state: KernelState) {
    this.#table = table;
    this.#state = state;
    this.#chain = `${table} `;
  }

  /** Parses one line of iptables-save. */
  line(text: string): void {
    if (text.startsWith(`:${OWN}`)) {
      this.#state.chains.set(`${this.#table} ${text.slice(1, text.indexOf(" "))}`, NO_RULES);
    } else if (text.startsWith(`-A ${OWN}`)) {
      const chain: ChainKey = `${this.#table} ${text.slice(3, text.indexOf(" ", 3))}`;
      if (chain !== this.#chain) this.end();
      this.#chain = chain;
      this.#rules.push(chain === HAIRPINS ? withHexadecimal(text) : text);
      if (this.#state.entries !== undefined) this.#addEntry(text, this.#state.entries);
    } else if (text.startsWith("-A ") && leadsToOurs(text)) {
      this.#state.jumps = [...this.#state.jumps, `${this.#table} ${text.slice(3)}`];
    }
  }

  #addEntry(rule: string, entries: Map<string, ObjectKey>): void {
    const [, vip = "", protocol = "", port, namespace, name] =
      (this.#table === "nat" && ENTRY.exec(rule)) || [];
    const address = parseAddress(vip);
    if (!isAddress(address) || namespace === undefined || name === undefined) return;
    entries.set(`${address.hex} ${protocol.toUpperCase()} ${port}`, objectKey(namespace, name));
  }

  /** Ends the present chain; also called after the last line. */
  end(): void {
    const { chains } = this.#state;
    if (chains.has(this.#chain)) chains.set(this.#chain, digestOf(this.#rules));
    this.#rules = [];
  }
}

/** Masks as `::1:0`: so musl prints them, and `Address.text` has them; the GNU C library prints `::0.1.0.0`. */
function withHexadecimal(rule: string): string {
  return rule.replace(/::(\d+)\.(\d+)\.0\.0/g, (_, high: string, low: string) => {
    const group = Number(high) * 256 + Number(low);
    return `::${group.toString(16)}:0`;
  });
}

/**
 * True if a rule, as iptables-save prints it, leads to a chain of ours. Ignores quoted texts: another program's comment may
 * contain `-j CSP-…`. Unquoted texts have no blanks (xtables_save_string).
 */
export function leadsToOurs(rule: string): boolean {
  if (!rule.includes(OWN)) return false;
  return LEADS_TO_OURS.test(rule.replace(/"(?:[^"\\]|\\.)*"/g, '""'));
}
