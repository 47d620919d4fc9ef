import { finished, type Transaction } from "../backend.ts";
import {
  type Believed,
  type Changes,
  digestOf,
  type Jump,
  linesOf,
  type Rules,
  type Table,
  tableOf,
} from "./tables.ts";

/** Characters of a piece of text, about. */
const PIECE = 64_000;

/** A chain that is written. */
type Write = readonly [name: string, rules: Rules, digest: string];

/** One table's part of a transaction. */
interface Section {
  /** Chains to write, by name: created if need be, and filled with these rules alone. */
  readonly writes: readonly Write[];
  readonly deletes: readonly string[];
  readonly insertJumps: readonly string[];
  /** Jumps to take out of where they stand, as often as they do, and put at the head. */
  readonly moveJumps: readonly (readonly [rule: string, copies: number])[];
  readonly deleteJumps: readonly string[];
}

/** Input of iptables-restore, and what will be believed once it is accepted. */
export class IptablesTransaction implements Transaction {
  readonly #sections: Record<Table, Section>;
  /** Jumps that stand once this is accepted; undefined if they stay as they are. */
  readonly jumps: readonly Jump[] | undefined;

  constructor(sections: Record<Table, Section>, jumps: readonly Jump[] | undefined) {
    this.#sections = sections;
    this.jumps = jumps;
  }

  get writes(): number {
    return this.#count(
      (section) => section.writes.length + section.insertJumps.length + section.moveJumps.length,
    );
  }

  get deletes(): number {
    return this.#count((section) => section.deletes.length + section.deleteJumps.length);
  }

  get empty(): boolean {
    return this.writes + this.deletes === 0;
  }

  /** Makes `believed` what the kernel holds once it has accepted this. */
  settle(believed: Believed): void {
    for (const table of ["filter", "nat"] as const) {
      for (const name of this.#sections[table].deletes) believed.chains.delete(`${table} ${name}`);
      for (const [name, , digest] of this.#sections[table].writes) {
        believed.chains.set(`${table} ${name}`, digest);
      }
    }
    if (this.jumps !== undefined) believed.jumps = this.jumps;
    delete believed.behind;
  }

  /**
   * The guard is up before the first DNAT, and goes after the last: what a table adds to filter is committed
   * before nat, and what it takes away after it. Each COMMIT is atomic; the three together are not.
   */
  toString(): string {
    return [...this.pieces()].join("");
  }

  /** The same text piece by piece, made as it is asked for: all of it may be more than memory should hold. */
  *pieces(): Generator<string> {
    const { filter, nat } = this.#sections;
    const additions = { ...filter, deletes: [], deleteJumps: [] };
    const removals = { ...filter, writes: [], insertJumps: [], moveJumps: [] };
    let piece = "";
    for (const lines of [
      printed("filter", additions),
      printed("nat", nat),
      printed("filter", removals),
    ]) {
      for (const line of lines) {
        piece += `${line}\n`;
        if (piece.length < PIECE) continue;
        yield piece;
        piece = "";
      }
    }
    if (piece !== "") yield piece;
  }

  #count(of: (section: Section) => number): number {
    return of(this.#sections.filter) + of(this.#sections.nat);
  }
}

/**
 * What makes `believed` hold `changes`. A chain whose digest is right is left alone; of a complete set of
 * changes, every chain of ours that it does not name is deleted.
 */
export function diff(believed: Believed, changes: Changes): IptablesTransaction {
  return finished(diffing(believed, changes));
}

/** The same in short steps: a complete set of changes is long. */
export function* diffing(
  believed: Believed,
  changes: Changes,
): Generator<void, IptablesTransaction> {
  const wanted = [...changes.chains];
  if (changes.complete) {
    for (const key of believed.chains.keys()) {
      if (!changes.chains.has(key) && !changes.kept?.has(key)) wanted.push([key, undefined]);
    }
  }
  const writes: Record<Table, Write[]> = { filter: [], nat: [] };
  const deletes: Record<Table, string[]> = { filter: [], nat: [] };
  for (const [key, rules] of wanted) {
    const [table, name] = tableOf(key);
    const digest = believed.chains.get(key);
    if (rules === undefined) {
      if (digest !== undefined) deletes[table].push(name);
    } else {
      const next = digestOf(rules);
      if (digest !== next) writes[table].push([name, rules, next]);
    }
    yield;
  }
  const { insert, move, remove } = diffJumps(believed, changes.jumps ?? believed.jumps);
  const section = (table: Table): Section => ({
    writes: writes[table].sort(inOrder),
    deletes: deletes[table].sort(),
    insertJumps: insert[table],
    moveJumps: move[table],
    deleteJumps: remove[table],
  });
  return new IptablesTransaction({ filter: section("filter"), nat: section("nat") }, changes.jumps);
}

/**
 * Compares jumps as sets with doubles: where one stands is nobody's promise, unless it is behind a rule that takes
 * its packets. What stands more often than once is put at the head, too: `-D` takes the first away, and the one
 * that were left may be behind anything.
 */
function diffJumps({ jumps: present, behind }: Believed, wanted: readonly Jump[]) {
  const insert: Record<Table, string[]> = { filter: [], nat: [] };
  const move: Record<Table, [string, number][]> = { filter: [], nat: [] };
  const remove: Record<Table, string[]> = { filter: [], nat: [] };
  const copies = new Map<Jump, number>();
  for (const jump of present) copies.set(jump, (copies.get(jump) ?? 0) + 1);
  // Each goes to the head of its chain, so the last comes first.
  for (const jump of [...new Set(wanted)].reverse()) {
    const [table, rule] = tableOf(jump);
    const standing = copies.get(jump) ?? 0;
    copies.delete(jump);
    if (standing === 0) insert[table].push(rule);
    else if (standing > 1 || behind?.has(jump)) move[table].push([rule, standing]);
  }
  for (const [jump, standing] of copies) {
    const [table, rule] = tableOf(jump);
    for (let i = 0; i < standing; i++) remove[table].push(rule);
  }
  return { insert, move, remove };
}

/** By name, for whoever reads it; what is not made yet in its own order, in which ports of an import are neighbours. */
function inOrder([a, one]: Write, [b, other]: Write): number {
  const unmade = Number("digest" in one) - Number("digest" in other);
  if (unmade !== 0 || "digest" in one) return unmade;
  return a < b ? -1 : 1;
}

/**
 * Declarations in name order: iptables-nft keeps its chains sorted and inserts each by walking them, so that
 * any other order costs 1.7 times as much at 10,000 chains (1.8.9).
 */
function* printed(table: Table, section: Section): Generator<string> {
  const { writes, deletes, moveJumps, insertJumps, deleteJumps } = section;
  if (Object.values(section).every(({ length }) => length === 0)) return;
  yield `*${table}`;
  for (const name of [...writes.map(([name]) => name), ...deletes].sort()) yield `:${name} - [0:0]`;
  for (const [, rules] of writes) yield* linesOf(rules);
  for (const [rule, copies] of moveJumps) yield* Array<string>(copies).fill(`-D ${rule}`);
  for (const [rule] of moveJumps) yield atHead(rule);
  yield* insertJumps.map(atHead);
  for (const rule of deleteJumps) yield `-D ${rule}`;
  for (const name of deletes) yield `-X ${name}`;
  yield "COMMIT";
}

function atHead(rule: string): string {
  return `-I ${rule.replace(" ", " 1 ")}`;
}
