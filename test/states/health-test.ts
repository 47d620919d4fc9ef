import * as runner from "node:test";
import fc from "fast-check";
import { Chance } from "../generators/chance.ts";
import { HealthWorld } from "../stages/health-world.ts";

/** A client waits for so many milliseconds. */
export const PATIENCE = 5_000;
export const MINUTE = 60_000;
export const WEB = ["demo/web"] as const;

type History = (world: HealthWorld) => Promise<void>;

/** A node whose chances this seed decides. */
export function worldOf(seed: number): HealthWorld {
  const chance = new Chance(seed);
  return new HealthWorld(() => chance.next());
}

/** Plays a history on a node, and stops the node. */
export async function play(seed: number, history: History): Promise<void> {
  const world = worldOf(seed);
  await history(world);
  await world.stop();
}

/** A test of one node. */
export function test(name: string, history: History, seed: number): void {
  runner.test(name, () => play(seed, history));
}

/** A test of one node with many seeds; the history gets random values, too. */
export function testAny<Values extends unknown[]>(
  name: string,
  values: { [Index in keyof Values]: fc.Arbitrary<Values[Index]> },
  history: (world: HealthWorld, ...values: Values) => Promise<void>,
): void {
  const property = fc.asyncProperty(fc.integer(), fc.tuple<Values>(...values), (seed, drawn) =>
    play(seed, (world) => history(world, ...drawn)),
  );
  runner.test(name, () => fc.assert(property, { numRuns: Number(process.env.RUNS ?? 8) }));
}
