import { setTimeout as sleep } from "node:timers/promises";
import type { Stage } from "./stage.ts";

/** Milliseconds between two changes of the endpoints. */
const PAUSE = 50;
/** Milliseconds that the clients may take longer than asked for: a connection that hangs. */
const PATIENCE = 30_000;

/** Connections of several clients without a pause, while the endpoints of the service are replaced all the time. */
export interface Flips {
  readonly changes: number;
  readonly made: number;
  /** Connections without a response, by error. */
  readonly errors: Readonly<Record<string, number>>;
}

/** Replaces all endpoints again and again for so many seconds, while clients on a node connect as fast as they can. */
export async function flips(stage: Stage, node: string, seconds: number): Promise<Flips> {
  const { pod, command } = stage.flood(node, seconds);
  const flood = pod.exec(command, { timeout: seconds * 1_000 + PATIENCE });
  const end = performance.now() + seconds * 1_000;
  let changes = 0;
  for (; performance.now() < end; changes++) {
    await stage.move();
    await sleep(PAUSE);
  }
  const { made, errors } = JSON.parse(await flood) as Omit<Flips, "changes">;
  return { changes, made, errors };
}
