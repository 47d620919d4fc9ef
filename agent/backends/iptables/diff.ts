import type { Transaction } from "../backend.ts";
import {
  type Changes,
  digestOf,
  type Jump,
  type KernelState,
  linesOf,
  type Rules,
  TABLES,
  type Table,
  tableOf,
} from "./state.ts";

/** Approximate number of characters of a piece of text. */
const PIECE = 64_000;

/** A chain to write. */
type Write = readonly [name: string, rules: Rules, digest: string];

/** One table's part of a transaction. */
interface Section {
  /** Chains to write, in order: created if necessary, with exactly these rules. */
  readonly writes: readonly Write[];
  readonly deletes: readonly string[];
  readonly insertJumps: readonly string[];
  /** Jumps of which all copies are deleted and one is inserted at the head. */
  readonly moveJumps: readonly (readonly [rule: string, copies: number])[];
  readonly deleteJumps: readonly string[];
}

/** Input of iptables-restore, and its effect on the cached state. */
export class IptablesTransaction implements Transaction {
  readonly #sections: Record<Table, Section>;
  /** All jumps after the transaction; undefined if they do not change. */
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

  /** The number of COMMITs: parts that the kernel accepts one after the other. */
  get commits(): number {
    return this.#parts.filter(([, section]) => hasWork(section)).length;
  }

  /** Updates the cached state after the kernel has accepted the transaction. */
  settle(state: KernelState): void {
    for (const table of TABLES) {
      for (const name of this.#sections[table].deletes) state.chains.delete(`${table} ${name}`);
      for (const [name, , digest] of this.#sections[table].writes) {
        state.chains.set(`${table} ${name}`, digest);
      }
    }
    if (this.jumps !== undefined) state.jumps = this.jumps;
    delete state.behind;
  }

  /**
   * The guard is written before the first DNAT, and deleted after the last: additions to filter come before nat, deletions
   * after it. Each COMMIT is atomic; the three together are not.
   */
  toString(): string {
    return [...this.pieces()].join("");
  }

  /** The same text in pieces that are made while they are read, because all of it may need too much memory. */
  *pieces(): Generator<string> {
    let piece = "";
    for (const [table, section] of this.#parts) {
      for (const line of printed(table, section)) {
        piece += `${line}\n`;
        if (piece.length < PIECE) continue;
        yield piece;
        piece = "";
      }
    }
    if (piece !== "") yield piece;
  }

  get #parts(): readonly (readonly [Table, Section])[] {
    const { filter, nat } = this.#sections;
    const additions = { ...filter, deletes: [], deleteJumps: [] };
    const removals = { ...filter, writes: [], insertJumps: [], moveJumps: [] };
    return [
      ["filter", additions],
      ["nat", nat],
      ["filter", removals],
    ];
  }

  #count(of: (section: Section) => number): number {
    return of(this.#sections.filter) + of(this.#sections.nat);
  }
}

/**
 * The transaction that makes the kernel hold `changes`. It skips chains with the right digest; if the changes are complete,
 * it deletes all other chains of ours.
 */
export function* diff(state: KernelState, changes: Changes): Generator<void, IptablesTransaction> {
  const desired = [...changes.chains];
  if (changes.complete) {
    for (const key of state.chains.keys()) {
      if (!changes.chains.has(key)) desired.push([key, undefined]);
    }
  }
  const writes: Record<Table, Write[]> = { filter: [], nat: [] };
  const deletes: Record<Table, string[]> = { filter: [], nat: [] };
  for (const [key, rules] of desired) {
    if (rules === "kept") continue;
    const [table, name] = tableOf(key);
    const digest = state.chains.get(key);
    if (rules === undefined) {
      if (digest !== undefined) deletes[table].push(name);
    } else {
      const next = digestOf(rules);
      if (digest !== next) writes[table].push([name, rules, next]);
    }
    yield;
  }
  const { insert, move, remove } = diffJumps(state, changes.jumps ?? state.jumps);
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
 * Compares jumps as multisets: their positions do not matter, unless a rule before one takes its packets. A duplicated jump is
 * moved to the head, too: `-D` deletes the first copy, and the other may be behind any rule.
 */
function diffJumps({ jumps: present, behind }: KernelState, desired: readonly Jump[]) {
  const insert: Record<Table, string[]> = { filter: [], nat: [] };
  const move: Record<Table, [string, number][]> = { filter: [], nat: [] };
  const remove: Record<Table, string[]> = { filter: [], nat: [] };
  const copies = new Map<Jump, number>();
  for (const jump of present) copies.set(jump, (copies.get(jump) ?? 0) + 1);
  // Each is inserted at the head of its chain, so the last comes first.
  for (const jump of [...new Set(desired)].reverse()) {
    const [table, rule] = tableOf(jump);
    const existing = copies.get(jump) ?? 0;
    copies.delete(jump);
    if (existing === 0) insert[table].push(rule);
    else if (existing > 1 || behind?.has(jump)) move[table].push([rule, existing]);
  }
  for (const [jump, existing] of copies) {
    const [table, rule] = tableOf(jump);
    for (let i = 0; i < existing; i++) remove[table].push(rule);
  }
  return { insert, move, remove };
}

/** By name; chains that are not rendered yet last and in their own order, in which ports of an import are neighbours. */
function inOrder([a, one]: Write, [b, other]: Write): number {
  const unmade = Number("digest" in one) - Number("digest" in other);
  if (unmade !== 0 || "digest" in one) return unmade;
  return a < b ? -1 : 1;
}

/** Declarations are in name order: for iptables-nft, any other order takes 1.7 times as long at 10,000 chains (1.8.9). */
function* printed(table: Table, section: Section): Generator<string> {
  const { writes, deletes, moveJumps, insertJumps, deleteJumps } = section;
  if (!hasWork(section)) return;
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

function hasWork(section: Section): boolean {
  return Object.values(section).some(({ length }) => length > 0);
}

function atHead(rule: string): string {
  return `-I ${rule.replace(" ", " 1 ")}`;
}
