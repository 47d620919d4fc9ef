import { setTimeout as sleep } from "node:timers/promises";
import type { Process } from "../lab/process.ts";

/** How long a program may take to be ready on a machine that does other things, too. */
const PATIENCE_MS = 60_000;

/** Waits until a program is ready. Kills it and throws, with its output, if it is not ready in time, or ends. */
export async function untilReady(
  program: Process,
  name: string,
  isReady: () => Promise<boolean>,
): Promise<void> {
  let over: string | undefined;
  program.exited.then(
    ({ code, signal }) => (over = `ended, ${signal ?? `code ${code}`}`),
    (error: unknown) => (over = String(error)),
  );
  const end = performance.now() + PATIENCE_MS;
  while (!(await isReady())) {
    if (performance.now() > end) over ??= `not ready within ${PATIENCE_MS} ms`;
    if (over !== undefined) {
      program.signal("SIGKILL");
      throw new Error(`${name}: ${over}\n${program.errors}`);
    }
    await sleep(20);
  }
}
