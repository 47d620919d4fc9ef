import fc from "fast-check";

type Arbitraries<Values extends [unknown, ...unknown[]]> = {
  readonly [I in keyof Values]: fc.Arbitrary<Values[I]>;
};

/** Checks what holds for all values that these make, with a hundred examples. */
export function forAll<Values extends [unknown, ...unknown[]]>(
  arbitraries: Arbitraries<Values>,
  holds: (...values: Values) => void | Promise<void>,
): Promise<void> {
  return forMany(100, arbitraries, holds);
}

/** The same with so many examples, these among them. */
export function forMany<Values extends [unknown, ...unknown[]]>(
  numRuns: number,
  arbitraries: Arbitraries<Values>,
  holds: (...values: Values) => void | Promise<void>,
  examples: Values[] = [],
): Promise<void> {
  const checked = async (...values: Values): Promise<void> => holds(...values);
  return fc.assert(fc.asyncProperty<Values>(...arbitraries, checked), { numRuns, examples });
}
