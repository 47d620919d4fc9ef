import { setTimeout as sleep } from "node:timers/promises";
import type { Namespace } from "../test/lab/namespace.ts";
import { usageOf } from "./usage.ts";

/** The resources that a program uses while nothing changes. */
export interface Quiet {
  /** Megabytes: its own, and those of what it has started. */
  readonly resident: readonly [number, number];
  /** Of one processor, what it has started included. NaN if that was not looked at. */
  readonly share: number;
}

/** Looks at nodes, waits for so many seconds, and looks again. */
export async function idle(nodes: readonly Namespace[], seconds: number): Promise<Quiet[]> {
  const before = nodes.map(cpuOf);
  const began = performance.now();
  await sleep(seconds * 1_000);
  const took = (performance.now() - began) / 1_000;
  return nodes.map((node, i) => {
    const { main, children } = usageOf(node);
    return {
      resident: [main.megabytes, children.megabytes],
      share: seconds === 0 ? Number.NaN : (cpuOf(node) - (before[i] ?? Number.NaN)) / took,
    };
  });
}

function cpuOf(node: Namespace): number {
  const { main, children } = usageOf(node);
  return main.cpuSeconds + children.cpuSeconds;
}
