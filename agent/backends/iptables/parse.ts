import { OWN } from "./chain-name.ts";
import { type Believed, type ChainKey, digestOf, type Jump, type Table } from "./tables.ts";

const NO_RULES = digestOf([]);
const LEADS_TO_OURS = new RegExp(` -[jg] ${OWN}`);

/**
 * Reads the listing of one table, line by line, and keeps what is ours: chains of our prefix with a digest of their
 * rules, and rules of other chains that lead to them. Everybody else's lines (kube-proxy may have a hundred
 * thousand) cost one look each.
 *
 * iptables-save prints a chain's rules together, so only one chain's text is in memory, and its digest is made
 * when the next begins: all of them at the end would take a fifth of a second at 10,000 services.
 */
export class SaveParser {
  readonly #table: Table;
  readonly #digests = new Map<string, string>();
  readonly #jumps: Jump[] = [];
  /** The chain that is being read, and its rules so far. */
  #chain = "";
  #rules: string[] = [];

  constructor(table: Table) {
    this.#table = table;
  }

  /** Takes one line of iptables-save. */
  line(text: string): void {
    if (text.startsWith(`:${OWN}`)) {
      this.#digests.set(text.slice(1, text.indexOf(" ")), NO_RULES);
    } else if (text.startsWith(`-A ${OWN}`)) {
      this.#rule(text.slice(3, text.indexOf(" ", 3)), text);
    } else if (text.startsWith("-A ") && leadsToOurs(text)) {
      this.#jumps.push(`${this.#table} ${text.slice(3)}`);
    }
  }

  /** Puts what was read into `believed`. */
  into(believed: Believed): void {
    this.#close();
    for (const [name, digest] of this.#digests) {
      const key: ChainKey = `${this.#table} ${name}`;
      believed.chains.set(key, digest);
    }
    believed.jumps = [...believed.jumps, ...this.#jumps];
  }

  #rule(chain: string, text: string): void {
    if (chain !== this.#chain) this.#close();
    this.#chain = chain;
    this.#rules.push(text);
  }

  #close(): void {
    if (this.#digests.has(this.#chain)) this.#digests.set(this.#chain, digestOf(this.#rules));
    this.#chain = "";
    this.#rules = [];
  }
}

/**
 * True if a rule, as iptables-save prints it, leads to a chain of ours.
 *
 * Quoted texts are put aside first: a comment or a log prefix that reads `-j CSP-…` must not make another
 * program's rule ours, and so deleted. Unquoted texts hold no blank (xtables_save_string).
 */
export function leadsToOurs(rule: string): boolean {
  if (!rule.includes(OWN)) return false;
  return LEADS_TO_OURS.test(rule.replace(/"(?:[^"\\]|\\.)*"/g, '""'));
}
