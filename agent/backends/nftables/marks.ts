import { commentsOf } from "../nft/chains.ts";
import { extraPart, isExtra } from "./extra-chains.ts";
import type { SkeletonOptions } from "./sets.ts";
import { skeletonChains } from "./skeleton.ts";

/** The comment of the only rule of an extra chain to which no map leads any more. */
export function unusedMark(name: string): string {
  return `${name} 1 unused`;
}

/** What the comments of a table's rules, sorted, say about it. */
export interface Found {
  /** Extra chains with their rules, and those that only wait to be deleted. */
  readonly extra: ReadonlySet<string>;
  readonly unused: ReadonlySet<string>;
  /** Chains with rules of another release or program, which this one does not have. */
  readonly strange: ReadonlySet<string>;
  /** True if there are all rules and no others. */
  readonly isWhole: boolean;
}

/** By list of comments, because each transaction needs it: with 20,000 extra chains, rendering all of them takes 0.8 s. */
const known = new WeakMap<readonly string[], Found & { readonly options: SkeletonOptions }>();

/** What these comments say, computed in short steps, once for each list. PURE. */
export function* foundIn(
  options: SkeletonOptions,
  marks: readonly string[],
): Generator<void, Found> {
  const before = known.get(marks);
  if (before?.options === options) return before;
  const extra = new Set<string>();
  const unused = new Set<string>();
  for (const mark of marks) {
    const name = chainOf(mark);
    if (isExtra(name)) (mark === unusedMark(name) ? unused : extra).add(name);
  }
  const some = { extra, unused: unused.difference(extra) };
  const all = yield* marksOf(options, some);
  const isWhole = marks.length === all.length && marks.every((mark, i) => mark === all[i]);
  const strange = isWhole ? new Set<string>() : chainsWith(marks).difference(chainsOf(all));
  return remember(options, marks, { ...some, strange, isWhole });
}

/** Changes of the extra chains of a table. */
export interface ExtraChanges {
  readonly added: ReadonlySet<string>;
  readonly retired: ReadonlySet<string>;
}

/** The comments of all rules, sorted, after these changes, which also made the table whole. PURE. */
export function* marksAfter(
  options: SkeletonOptions,
  marks: readonly string[],
  { extra, unused, isWhole }: Found,
  { added, retired }: ExtraChanges,
): Generator<void, readonly string[]> {
  const after = {
    extra: extra.union(added).difference(retired),
    unused: unused.difference(added).union(retired),
  };
  const changed = { extra: added, unused: retired };
  const next = isWhole
    ? [...without(options, marks, added.union(retired)), ...(yield* extraMarks(options, changed))]
    : yield* marksOf(options, after);
  next.sort();
  remember(options, next, { ...after, strange: new Set(), isWhole: true });
  return next;
}

/** The comments without those of unused chains that were deleted. PURE. */
export function marksWithout(marks: readonly string[], deleted: ReadonlySet<string>): string[] {
  const next = marks.filter((mark) => !deleted.has(chainOf(mark)));
  const found = known.get(marks);
  if (found !== undefined) {
    const unused = found.unused.difference(deleted);
    remember(found.options, next, { ...found, unused });
  }
  return next;
}

/** The chains of rules of any release, and of those that another program wrote. */
function chainsWith(marks: readonly string[]): Set<string> {
  return chainsOf(marks.filter((mark) => / (\d+ ([0-9a-f]{12}|unused)|\?)$/.test(mark)));
}

/** What a rule says about the table: its comment, which begins with its chain in any release, or else that another program wrote it. PURE. */
export function markOf(chain: string, comment: string): string {
  return chain === "" || comment.startsWith(`${chain} `) ? comment : `${chain} ?`;
}

/** True for the name of a chain that nft accepts as it is. PURE. */
export function isChainName(name: string): boolean {
  return /^[A-Za-z][\w.-]*$/.test(name);
}

function chainsOf(marks: readonly string[]): Set<string> {
  return new Set(marks.map(chainOf));
}

type Extras = Pick<Found, "extra" | "unused">;

/** The comments of the rules that always exist: always the same. */
const usualMarks = new WeakMap<SkeletonOptions, readonly string[]>();

/** The comments of all rules of a table with these extra chains, sorted. */
function* marksOf(options: SkeletonOptions, extras: Extras): Generator<void, string[]> {
  const usual = usualMarks.get(options) ?? commentsOf(skeletonChains(options));
  usualMarks.set(options, usual);
  return [...usual, ...(yield* extraMarks(options, extras))].sort();
}

function* extraMarks(
  options: SkeletonOptions,
  { extra, unused }: Extras,
): Generator<void, string[]> {
  const found = [...unused].map(unusedMark);
  for (const name of extra) {
    found.push(...commentsOf(extraPart(options, name)?.chains ?? []));
    yield;
  }
  return found;
}

/** Without the comments of rules in the chains of these parts. */
function without(
  options: SkeletonOptions,
  marks: readonly string[],
  parts: ReadonlySet<string>,
): string[] {
  const chains = [...parts].flatMap((name) => extraPart(options, name)?.chains ?? []);
  const names = new Set(chains.map(({ name }) => name));
  return marks.filter((mark) => !names.has(chainOf(mark)));
}

function remember(options: SkeletonOptions, marks: readonly string[], found: Found): Found {
  known.set(marks, { ...found, options });
  return found;
}

/** The chain of a rule with this comment. */
export function chainOf(mark: string): string {
  return mark.slice(0, mark.indexOf(" "));
}
