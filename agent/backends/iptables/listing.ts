import { isAddress, parseAddress } from "../../../api/address.ts";
import { type ObjectKey, objectKey } from "../../../api/names.ts";
import type { Found } from "../dataplane.ts";
import type { Held } from "../objects.ts";
import { HAIRPIN, OWN } from "./chain-name.ts";
import { jumpDigest, parseJumpDigest } from "./jumps.ts";
import {
  BASES,
  type ChainKey,
  isJump,
  type Jump,
  type Listing,
  type Table,
  tableOf,
} from "./object-id.ts";
import { ownersIn } from "./owner.ts";
import { digestOf } from "./rules.ts";

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
  readonly #held: Held;
  readonly #withEntries: boolean;
  /** The present chain, its rules so far, and the imports of its VIPs and ports. */
  #chain: ChainKey;
  #rules: string[] = [];
  #entries = new Map<string, ObjectKey>();

  /** `held`: where the result is added. `withEntries`: chains get the imports of the VIPs and ports in them. */
  constructor(table: Table, held: Held, withEntries = false) {
    this.#table = table;
    this.#held = held;
    this.#withEntries = withEntries;
    this.#chain = `${table} `;
  }

  /** Parses one line of iptables-save. */
  line(text: string): void {
    if (text.startsWith(`:${OWN}`)) {
      this.#held.set(`${this.#table} ${text.slice(1, text.indexOf(" "))}`, { digest: NO_RULES });
    } else if (text.startsWith(`-A ${OWN}`)) {
      const chain: ChainKey = `${this.#table} ${text.slice(3, text.indexOf(" ", 3))}`;
      if (chain !== this.#chain) this.end();
      this.#chain = chain;
      this.#rules.push(chain === HAIRPINS ? withHexadecimal(text) : text);
      if (this.#withEntries) this.#addEntry(text);
    } else addJump(this.#held, this.#table, text);
  }

  #addEntry(rule: string): void {
    const [, vip = "", protocol = "", port, namespace, name] =
      (this.#table === "nat" && ENTRY.exec(rule)) || [];
    const address = parseAddress(vip);
    if (!isAddress(address) || namespace === undefined || name === undefined) return;
    const place = `${address.hex} ${protocol.toUpperCase()} ${port}`;
    this.#entries.set(place, objectKey(namespace, name));
  }

  /** Ends the present chain; also called after the last line. */
  end(): void {
    const digest = digestOf(this.#rules);
    const entries = this.#entries;
    if (this.#held.has(this.#chain))
      this.#held.set(this.#chain, entries.size === 0 ? { digest } : { digest, entries });
    this.#rules = [];
    if (entries.size > 0) this.#entries = new Map();
  }
}

/** Adds a rule if it is a jump to a chain of ours. */
function addJump(held: Held, table: Table, line: string): void {
  if (!line.startsWith("-A ") || !leadsToOurs(line)) return;
  const id: Jump = `${table} ${line.slice(3)}`;
  const { digest = "0" } = held.get(id) ?? {};
  held.set(id, { digest: jumpDigest({ copies: parseJumpDigest(digest).copies + 1 }) });
}

/** The jumps in these chains. */
export function jumpsIn(listing: Listing): Held {
  const held: Held = new Map();
  for (const [key, lines = []] of listing)
    for (const line of lines) addJump(held, tableOf(key)[0], line);
  return held;
}

/**
 * What was found: our chains and jumps (`rules`), some of them behind other rules. `bases`: the built-in chains. A table without any of our jumps was flushed: the
 * owners of its present rules are suspects.
 */
export function foundOf(
  rules: Held,
  bases: Listing,
  behind: ReadonlyMap<Jump, string> = new Map(),
): Found {
  const moved = [...behind].map(([id, rule]) => {
    const { copies } = parseJumpDigest(rules.get(id)?.digest ?? "");
    return [id, { digest: jumpDigest({ copies, behind: rule }) }] as const;
  });
  const held: Held = moved.length === 0 ? rules : new Map([...rules, ...moved]);
  const suspect = (id: string) => {
    const [table] = tableOf(id);
    const inTable = (one: string) => tableOf(one)[0] === table;
    if (held.keys().some((one) => isJump(one) && inTable(one))) return undefined;
    return ownersIn(BASES.filter(inTable).flatMap((key) => bases.get(key) ?? []));
  };
  return { held, suspect };
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
