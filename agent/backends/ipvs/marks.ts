import { createHash } from "node:crypto";

/** A chain as far as its rules are concerned. */
interface Marked {
  readonly name: string;
  readonly rules: readonly string[];
}

/**
 * A comment for each rule of these chains, in their order. Each holds a digest of all of them: whoever takes one away, puts
 * one between or comes with other rules leaves other comments, however this version of nft spells what the rules say. PURE.
 */
export function marksOfChains(chains: readonly Marked[], prefix = ""): string[] {
  const digest = createHash("sha256").update(JSON.stringify(chains)).digest("hex").slice(0, 12);
  return chains.flatMap(({ name, rules }) =>
    rules.map((_, i) => `${prefix}${name} ${i + 1} ${digest}`),
  );
}
