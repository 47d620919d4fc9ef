/**
 * How many times slower than others this machine is: an emulated one says so of itself. Tests have
 * as much more patience, and look as much more seldom: each look starts a program, which would hold up what it waits for.
 */
export const SLOWNESS = Number(process.env.SLOWNESS ?? 1);
