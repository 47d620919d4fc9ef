import { numberText } from "../../system/nftables/text.ts";
import { type Chain, commentsOf } from "../nft/chains.ts";
import { hashChain, stickyChains } from "./affinity.ts";
import { tableOf } from "./sets.ts";
import {
  pickChain,
  type SkeletonOptions,
  setTypes,
  skeletonChains,
  USUAL_SLOTS,
} from "./skeleton.ts";

/** An element of a map of verdicts. */
interface Branch {
  readonly map: "picks" | "hashes" | "timeouts";
  readonly number: number;
  readonly verdict: string;
}

/** A part of the skeleton. The comments of its rules have a digest of all its rules. */
interface Part {
  readonly chains: readonly Chain[];
  readonly branches: readonly Branch[];
}

/** A chain that exists only where a service needs it: `pick-100`. */
const EXTRA = /^(pick|hash|sticky)-(\d+)$/;

/** Input of nft that creates or mends the table, with these extra chains; elements stay. PURE. */
export function renderSkeleton(options: SkeletonOptions, extra: Iterable<string>): string {
  const table = tableOf(options.family);
  const sets = Object.entries(setTypes(options.family));
  return [
    `add table ${table}`,
    ...sets.map(([name, type]) => {
      const [kind, set] = name.split(" ");
      return `add ${kind} ${table} ${set} { ${type} }`;
    }),
    ...[...partsOf(options, extra)].flatMap((part) => renderPart(table, part)),
    "",
  ].join("\n");
}

/** Input of nft that adds these extra chains to a table. PURE. */
export function renderExtra(options: SkeletonOptions, extra: Iterable<string>): string {
  const table = tableOf(options.family);
  const lines = [...extra].flatMap((name) => renderPart(table, extraPart(options, name)));
  return lines.map((line) => `${line}\n`).join("");
}

/** The comments of the rules that always exist: needed for each change, and always the same. */
const usualMarks = new WeakMap<SkeletonOptions, readonly string[]>();

/** The comments of all rules of a table with these extra chains, sorted. PURE. */
export function marksOf(options: SkeletonOptions, extra: Iterable<string>): string[] {
  const usual = usualMarks.get(options) ?? commentsOf(skeletonChains(options));
  usualMarks.set(options, usual);
  const more = [...extra].flatMap((name) => commentsOf(extraPart(options, name).chains));
  return [...usual, ...more].sort();
}

/** The extra chains among those that rules with these comments are in. PURE. */
export function extraIn(marks: readonly string[]): Set<string> {
  const names = marks.map((mark) => mark.slice(0, mark.indexOf(" ")));
  return new Set(names.filter((name) => isExtra(name)));
}

function isExtra(name: string): boolean {
  const [, kind, number] = EXTRA.exec(name) ?? [];
  return kind !== undefined && !(kind === "pick" && Number(number) <= USUAL_SLOTS);
}

function* partsOf(options: SkeletonOptions, extra: Iterable<string>): Generator<Part> {
  const usual = Array.from({ length: USUAL_SLOTS }, (_, i) => pick(i + 1));
  yield { chains: skeletonChains(options), branches: usual };
  for (const name of extra) yield extraPart(options, name);
}

function extraPart(options: SkeletonOptions, name: string): Part {
  const [, kind, digits] = EXTRA.exec(name) ?? [];
  const number = Number(digits);
  if (kind === "pick") return { chains: [pickChain(number)], branches: [pick(number)] };
  if (kind === "hash") {
    const verdict = `jump hash-${number}`;
    return {
      chains: [hashChain(options.family, number)],
      branches: [{ map: "hashes", number, verdict }],
    };
  }
  const verdict = `goto sticky-${number}`;
  return {
    chains: stickyChains(options, number),
    branches: [{ map: "timeouts", number, verdict }],
  };
}

function pick(number: number): Branch {
  return { map: "picks", number, verdict: `goto pick-${number}` };
}

/** A chain that exists is emptied; a base chain is made again, because its hook may be another one. */
function renderPart(table: string, { chains, branches }: Part): string[] {
  const comments = commentsOf(chains).values();
  return [
    ...chains.flatMap(({ name, hook }) => [
      `add chain ${table} ${name}`,
      `flush chain ${table} ${name}`,
      ...(hook === undefined
        ? []
        : [
            `delete chain ${table} ${name}`,
            `add chain ${table} ${name} { type ${hook}; policy accept; }`,
          ]),
    ]),
    ...chains.flatMap(({ name, rules }) =>
      rules.map((rule) => `add rule ${table} ${name} ${rule} comment "${comments.next().value}"`),
    ),
    ...branches.map(
      ({ map, number, verdict }) =>
        `add element ${table} ${map} { ${numberText(number)} : ${verdict} }`,
    ),
  ];
}
