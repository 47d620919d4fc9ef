import type { Transaction } from "../backend.ts";
import type { Change } from "../objects.ts";
import { parseJumpDigest } from "./jumps.ts";
import { isJump, type Table, tableOf } from "./object-id.ts";
import { isUnmade, linesOf, type Rules } from "./rules.ts";

/** Approximate number of characters of a piece of text. */
const PIECE = 64_000;

/** A chain to write. */
type Write = readonly [name: string, rules: Rules];

/** One table's part of a transaction. */
interface Section {
  /** Chains to write, in order: created if necessary, with exactly these rules. */
  readonly writes: readonly Write[];
  readonly deletes: readonly string[];
  /** Each is inserted at the head of its chain, so the last comes first. */
  readonly insertJumps: readonly string[];
  /** Jumps of which all copies are deleted and one is inserted at the head. */
  readonly moveJumps: readonly Copies[];
  readonly deleteJumps: readonly Copies[];
}

/** A jump, and how often the kernel has it. */
type Copies = readonly [rule: string, copies: number];

/** Input of iptables-restore. */
export class IptablesCommands implements Transaction {
  readonly #sections: Record<Table, Section>;

  constructor(change: Change<Rules>) {
    this.#sections = { filter: sectionOf("filter", change), nat: sectionOf("nat", change) };
  }

  get writes(): number {
    return this.#count(
      (section) => section.writes.length + section.insertJumps.length + section.moveJumps.length,
    );
  }

  get deletes(): number {
    return this.#count(({ deletes, deleteJumps }) => deletes.length + total(deleteJumps));
  }

  get empty(): boolean {
    return this.writes + this.deletes === 0;
  }

  /** The number of COMMITs: parts that the kernel accepts one after the other. */
  get commits(): number {
    return this.#parts.filter(([, section]) => hasWork(section)).length;
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
 * Jumps may be in any order, unless a rule before one takes its packets: then it moves to the head. So does a jump with copies: `-D` deletes the first, and
 * the others may be behind any rule.
 */
function sectionOf(table: Table, { puts, deletes }: Change<Rules>): Section {
  const writes: Write[] = [];
  const insertJumps: string[] = [];
  const moveJumps: Copies[] = [];
  for (const [id, { before, part }] of puts) {
    const [where, rest] = tableOf(id);
    if (where !== table) continue;
    if (!isJump(id)) writes.push([rest, part.content]);
    else if (before === undefined) insertJumps.unshift(rest);
    else moveJumps.unshift([rest, parseJumpDigest(before).copies]);
  }
  const gone = [...deletes].filter(([id]) => tableOf(id)[0] === table);
  return {
    writes: writes.sort(inOrder),
    deletes: gone.flatMap(([id]) => (isJump(id) ? [] : [tableOf(id)[1]])).sort(),
    insertJumps,
    moveJumps,
    deleteJumps: gone.flatMap(([id, { before }]) =>
      isJump(id) ? [[tableOf(id)[1], parseJumpDigest(before).copies] as const] : [],
    ),
  };
}

/** By name; chains that are not rendered yet last and in their own order, in which ports of an import are neighbours. */
function inOrder([a, one]: Write, [b, other]: Write): number {
  const unmade = Number(isUnmade(one)) - Number(isUnmade(other));
  if (unmade !== 0 || isUnmade(one)) return unmade;
  return a < b ? -1 : 1;
}

/** Declarations are in name order: for iptables-nft, any other order takes 1.7 times as long at 10,000 chains (1.8.9). */
function* printed(table: Table, section: Section): Generator<string> {
  const { writes, deletes, moveJumps, insertJumps, deleteJumps } = section;
  if (!hasWork(section)) return;
  yield `*${table}`;
  for (const name of [...writes.map(([name]) => name), ...deletes].sort()) yield `:${name} - [0:0]`;
  for (const [, rules] of writes) yield* linesOf(rules);
  yield* deletions(moveJumps);
  for (const [rule] of moveJumps) yield atHead(rule);
  yield* insertJumps.map(atHead);
  yield* deletions(deleteJumps);
  for (const name of deletes) yield `-X ${name}`;
  yield "COMMIT";
}

function hasWork(section: Section): boolean {
  return Object.values(section).some(({ length }) => length > 0);
}

function atHead(rule: string): string {
  return `-I ${rule.replace(" ", " 1 ")}`;
}

function deletions(jumps: readonly Copies[]): string[] {
  return jumps.flatMap(([rule, copies]) => Array<string>(copies).fill(`-D ${rule}`));
}

function total(jumps: readonly Copies[]): number {
  return jumps.reduce((sum, [, copies]) => sum + copies, 0);
}
