import type { Drift } from "../backend.ts";
import { compare } from "./drift.ts";
import type { JumpOrder } from "./jump-order.ts";
import { ownersIn } from "./owner.ts";
import { BASES, type Found, type KernelState, TABLES, tableOf } from "./state.ts";

/** Compares everything that was read with the cached state, and finds jumps behind rules that take their packets. */
export async function check(
  state: KernelState,
  found: Found,
  order: JumpOrder,
  stop?: AbortSignal,
): Promise<Drift[]> {
  const behind = await order.again(found.state.jumps, found.bases, stop);
  const drift = compare(state, { ...found.state, behind });
  const all = drift.map((one) => suspected(one, found));
  // The log names only the first.
  return [...all.filter((one) => one.suspect), ...all.filter((one) => !one.suspect)];
}

/** A table without any of our jumps was flushed: the owners of its present rules are suspects. */
function suspected(drift: Drift, { state: { jumps }, bases }: Found): Drift {
  const table = TABLES.find((each) => drift.what.startsWith(`${each} `));
  if (drift.suspect !== undefined || jumps.some((jump) => tableOf(jump)[0] === table)) return drift;
  const left = BASES.filter((key) => tableOf(key)[0] === table);
  const suspect = ownersIn(left.flatMap((key) => bases.get(key) ?? []));
  return suspect === undefined ? drift : { ...drift, suspect };
}
