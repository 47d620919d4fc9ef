import { type Family, isAddress, parseAddress } from "../../../api/address.ts";
import { isProtocol } from "../../../api/protocol.ts";
import { CodedError, codeOf } from "../../../common/errors.ts";
import { execLines } from "../../system/exec.ts";
import { ARP_TABLE } from "./arp.ts";
import { TABLE, tableOf } from "./guard.ts";
import { type GuardSets, serverKey } from "./state.ts";

/** A table as it stands. */
export interface Listing {
  readonly sets: GuardSets;
  /** The comments of all rules in their order; a rule without one is an empty text. */
  readonly rules: readonly string[];
}

/** Our tables of one family as they stand. */
export interface GuardListing extends Listing {
  /** Those that are there, as nft names them. */
  readonly tables: readonly string[];
}

/** What nft says of a table that is not there. */
const ABSENT = /No such file or directory/;
const NO_SETS: GuardSets = { served: new Map(), explicit: new Set(), hairpins: new Set() };

/**
 * Reads our tables; undefined if there is none. `elements`: whether what their sets hold is wanted, too. Without the guard
 * there are no rules. Rejects as `execLines` does, and with CSP_TABLE_UNREADABLE if what nft says is not understood.
 */
export async function listGuard(
  family: Family,
  elements: "elements" | "rules",
  stop?: AbortSignal,
): Promise<GuardListing | undefined> {
  const names = family === "IPv4" ? [tableOf(family), ARP_TABLE] : [tableOf(family)];
  const found = await Promise.all(names.map((name) => listTable(name, elements, stop)));
  const tables = names.filter((_, i) => found[i] !== undefined);
  if (tables.length === 0) return undefined;
  const [guard, arp] = found;
  if (guard === undefined) return { sets: NO_SETS, rules: [], tables };
  const rules = arp === undefined ? guard.rules : [...guard.rules, ...arp.rules];
  // Both are written together: where they differ, the rules are not what they were.
  const differs = arp !== undefined && !isSame(arp.sets.explicit, guard.sets.explicit);
  return { sets: guard.sets, rules: differs ? [...rules, ""] : rules, tables };
}

function isSame(one: ReadonlySet<string>, other: ReadonlySet<string>): boolean {
  return one.size === other.size && [...one].every((each) => other.has(each));
}

async function listTable(
  name: string,
  elements: "elements" | "rules",
  stop?: AbortSignal,
): Promise<Listing | undefined> {
  const terse = elements === "rules" ? ["-t"] : [];
  let text = "";
  try {
    await execLines(
      ["nft", "-j", ...terse, "list", "table", ...name.split(" ")],
      (line) => {
        text += line;
      },
      { stop },
    );
  } catch (error) {
    if (codeOf(error) === "CSP_EXEC_FAILED" && ABSENT.test(String(error))) return undefined;
    throw error;
  }
  const listing = parseListing(text);
  if (listing !== undefined) return listing;
  throw new CodedError(
    "CSP_TABLE_UNREADABLE",
    `nft: table ${TABLE}: its listing is not understood`,
  );
}

/** What `nft -j list table` says; undefined if it is not that. PURE. */
export function parseListing(text: string): Listing | undefined {
  const entries = property(parsed(text), "nftables");
  if (!Array.isArray(entries)) return undefined;
  const sets: GuardSets = { served: new Map(), explicit: new Set(), hairpins: new Set() };
  const rules: string[] = [];
  for (const entry of entries as readonly unknown[]) {
    const rule = property(entry, "rule");
    if (rule !== undefined) rules.push(textOf(property(rule, "comment")) ?? "");
    const set = property(entry, "set");
    const elements = property(set, "elem");
    if (!Array.isArray(elements)) continue;
    const name = property(set, "name");
    for (const element of elements as readonly unknown[]) put(sets, name, element);
  }
  return { sets, rules };
}

/** What is no element of ours is passed over: writing the table anew takes it away. */
function put(sets: GuardSets, name: unknown, element: unknown): void {
  const wrapped = property(element, "elem");
  const value = property(wrapped, "val") ?? element;
  const parts = property(value, "concat");
  const [first, second, third] = Array.isArray(parts) ? (parts as readonly unknown[]) : [value];
  const address = parseAddress(textOf(first) ?? "");
  if (!isAddress(address)) return;
  if (name === "explicit") sets.explicit.add(address.hex);
  if (name === "hairpins") sets.hairpins.add(address.hex);
  const protocol = textOf(second)?.toUpperCase();
  if (name !== "served" || !isProtocol(protocol) || typeof third !== "number") return;
  const key = serverKey({ address: address.hex, protocol, port: third });
  sets.served.set(key, textOf(property(wrapped, "comment")) ?? "");
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function property(value: unknown, name: string): unknown {
  if (typeof value !== "object" || value === null || !(name in value)) return undefined;
  return (value as Readonly<Record<string, unknown>>)[name];
}

function textOf(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}
