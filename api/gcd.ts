/** The greatest common divisor of two integers of 0 or more. */
export function gcd(a: number, b: number): number {
  return b === 0 ? a : gcd(b, a % b);
}
