import fc from "fast-check";

/** What an arbitrary makes. */
export type Made<Arbitrary> = Arbitrary extends fc.Arbitrary<infer Value> ? Value : never;

/** A kind of step of a history, for `fc.oneof`: `do` says what happens, `fields` how. */
export function step<const Do extends string, Fields extends object = object>(
  weight: number,
  what: Do,
  fields?: { readonly [Name in keyof Fields]: fc.Arbitrary<Fields[Name]> },
) {
  const arbitrary = fc.record({ do: fc.constant(what), ...fields });
  return { weight, arbitrary: arbitrary as unknown as fc.Arbitrary<{ do: Do } & Fields> };
}
