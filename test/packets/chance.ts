/**
 * An exact probability: `numerator / 2^shift`. xt_statistic draws with 31 bits, so that every product of its
 * chances is of this form, and the outcomes of a packet add up to one, not to nearly one.
 */
export interface Chance {
  readonly numerator: bigint;
  readonly shift: number;
}

/** Certainty. */
export const CERTAIN: Chance = { numerator: 1n, shift: 0 };
/** Never. */
export const NEVER: Chance = { numerator: 0n, shift: 0 };

/** The chance of `chance` and of a draw of 31 bits below `threshold`. */
export function andDraw(chance: Chance, threshold: number): Chance {
  return { numerator: chance.numerator * BigInt(threshold), shift: chance.shift + 31 };
}

/** The chance of one of two outcomes that exclude each other. */
export function either(a: Chance, b: Chance): Chance {
  const shift = Math.max(a.shift, b.shift);
  const scaled = (c: Chance) => c.numerator << BigInt(shift - c.shift);
  return { numerator: scaled(a) + scaled(b), shift };
}

/** True if the two are the same number. */
export function sameChance(a: Chance, b: Chance): boolean {
  return a.numerator << BigInt(b.shift) === b.numerator << BigInt(a.shift);
}

/** The nearest number, to within 2^-64. */
export function chanceToNumber(chance: Chance): number {
  return Number((chance.numerator << 64n) >> BigInt(chance.shift)) / 2 ** 64;
}

/** True if it is one in `n`, to within the rounding of `n` draws of 31 bits. */
export function isOneIn(chance: Chance, n: number): boolean {
  return isNear(chance, 1 / n, n);
}

/** True if it is this number, to within the rounding of `draws` draws of 31 bits. */
export function isNear(chance: Chance, number: number, draws: number): boolean {
  return Math.abs(chanceToNumber(chance) - number) < draws / 2 ** 31;
}
