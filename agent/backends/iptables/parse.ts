import { OWN } from "./chain-name.ts";
import { type Believed, type ChainKey, digestOf, type Jump, type Table } from "./tables.ts";

const LEADS_TO_OURS = new RegExp(` -[jg] ${OWN}`);

/**
 * Reads the listing of one table, line by line, and keeps what is ours: chains of our prefix with their
 * rules, and rules of other chains that lead to them. Everybody else's lines (kube-proxy may have a hundred
 * thousand) cost one look each.
 */
export class SaveParser {
  readonly #table: Table;
  readonly #chains = new Map<string, string[]>();
  readonly #jumps: Jump[] = [];

  constructor(table: Table) {
    this.#table = table;
  }

  /** Takes one line of iptables-save. */
  line(text: string): void {
    if (text.startsWith(`:${OWN}`)) {
      this.#chains.set(text.slice(1, text.indexOf(" ")), []);
    } else if (text.startsWith(`-A ${OWN}`)) {
      this.#chains.get(text.slice(3, text.indexOf(" ", 3)))?.push(text);
    } else if (text.startsWith("-A ") && leadsToOurs(text)) {
      this.#jumps.push(`${this.#table} ${text.slice(3)}`);
    }
  }

  /** Puts what was read into `believed`. */
  into(believed: Believed): void {
    for (const [name, rules] of this.#chains) {
      const key: ChainKey = `${this.#table} ${name}`;
      believed.chains.set(key, digestOf(rules));
    }
    believed.jumps = [...believed.jumps, ...this.#jumps];
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
