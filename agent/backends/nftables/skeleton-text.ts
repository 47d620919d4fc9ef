import { numberText } from "../../system/nftables/text.ts";
import { commentsOf, POLICY } from "../nft/chains.ts";
import {
  chainNames,
  extraPart,
  type Part,
  partOf,
  unusedMark,
  VERDICT_MAPS,
} from "./extra-chains.ts";
import { type SkeletonOptions, setTypes, tableOf } from "./sets.ts";
import { skeletonChains } from "./skeleton.ts";

/**
 * Input of nft that creates or mends the table, with these extra chains; elements stay. `strange`: chains of another release or program, which become empty, because
 * a map may lead to them. PURE.
 */
export function renderSkeleton(
  options: SkeletonOptions,
  extra: Iterable<string>,
  strange: Iterable<string> = [],
): string {
  const table = tableOf(options.family);
  const sets = Object.entries(setTypes(options.family));
  return [
    `add table ${table}`,
    ...sets.map(([name, type]) => {
      const [kind, set] = name.split(" ");
      return `add ${kind} ${table} ${set} { ${type} }`;
    }),
    ...[...strange].flatMap((name) => [
      `add chain ${table} ${name}`,
      `flush chain ${table} ${name}`,
    ]),
    // They may lead to chains that these options, or this release, do not have, or elsewhere than they should.
    ...VERDICT_MAPS.flatMap((map) => [
      `add map ${table} ${map} { type classid : verdict; }`,
      `flush map ${table} ${map}`,
    ]),
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

/** Input of nft after which no map leads to these extra chains. The kernel may still count them as in use for a moment. PURE. */
export function renderRetired(options: SkeletonOptions, names: Iterable<string>): string {
  const table = tableOf(options.family);
  const lines = [...names].flatMap((name) => {
    const { branches, chains } = extraPart(options, name) ?? { branches: [], chains: [] };
    return [
      ...branches.flatMap(({ map, number, verdict }) => [
        // Another program may have deleted it.
        `add element ${table} ${map} { ${numberText(number)} : ${verdict} }`,
        `delete element ${table} ${map} { ${numberText(number)} }`,
      ]),
      ...chains.map((chain) => `flush chain ${table} ${chain.name}`),
      `add rule ${table} ${name} return comment "${unusedMark(name)}"`,
    ];
  });
  return lines.map((line) => `${line}\n`).join("");
}

/** Input of nft that deletes chains, whether they exist or not. PURE. */
export function renderDeleted(options: SkeletonOptions, names: Iterable<string>): string {
  const table = tableOf(options.family);
  const chains = new Set([...names].flatMap((name) => [name, ...chainNames(options, [name])]));
  const commands = ["add", "flush", "delete"].flatMap((verb) =>
    [...chains].map((name) => `${verb} chain ${table} ${name}`),
  );
  return commands.map((line) => `${line}\n`).join("");
}

function* partsOf(options: SkeletonOptions, extra: Iterable<string>): Generator<Part> {
  yield partOf(...skeletonChains(options));
  yield* extraParts(options, extra);
}

function extraParts(options: SkeletonOptions, extra: Iterable<string>): Part[] {
  return [...extra].flatMap((name) => extraPart(options, name) ?? []);
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
            `add chain ${table} ${name} { type ${hook}; ${POLICY}; }`,
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
