import { numberText } from "../../system/nftables/text.ts";
import { commentsOf } from "../nft/chains.ts";
import { extraPart, isExtra, type Part, pickBranch } from "./extra-chains.ts";
import { tableOf } from "./sets.ts";
import { type SkeletonOptions, setTypes, skeletonChains, USUAL_SLOTS } from "./skeleton.ts";

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
  const lines = extraParts(options, extra).flatMap((part) => renderPart(table, part));
  return lines.map((line) => `${line}\n`).join("");
}

/** The comments of the rules that always exist: needed for each change, and always the same. */
const usualMarks = new WeakMap<SkeletonOptions, readonly string[]>();

/** The comments of all rules of a table with these extra chains, sorted. PURE. */
export function marksOf(options: SkeletonOptions, extra: Iterable<string>): string[] {
  const usual = usualMarks.get(options) ?? commentsOf(skeletonChains(options));
  usualMarks.set(options, usual);
  const more = extraParts(options, extra).flatMap(({ chains }) => commentsOf(chains));
  return [...usual, ...more].sort();
}

/** The extra chains among those that rules with these comments are in. PURE. */
export function extraIn(marks: readonly string[]): Set<string> {
  const names = marks.map((mark) => mark.slice(0, mark.indexOf(" ")));
  return new Set(names.filter((name) => isExtra(name)));
}

function* partsOf(options: SkeletonOptions, extra: Iterable<string>): Generator<Part> {
  const usual = Array.from({ length: USUAL_SLOTS }, (_, i) => pickBranch(i + 1));
  yield { chains: skeletonChains(options), branches: usual };
  yield* extraParts(options, extra);
}

function extraParts(options: SkeletonOptions, extra: Iterable<string>): Part[] {
  return [...extra].flatMap((name) => extraPart(options, name) ?? []);
}

/** A chain that exists is emptied; a base chain is made again, because its hook may be another one. */
function renderPart(table: string, { maps = [], chains, branches }: Part): string[] {
  const comments = commentsOf(chains).values();
  return [
    ...maps.map((map) => `add map ${table} ${map} { type classid : verdict; }`),
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
