import { setTimeout as sleep } from "node:timers/promises";
import type { Process } from "../lab/process.ts";
import type { Host } from "./host.ts";

/** Milliseconds until containerd answers, on a machine that does other things, too. */
const PATIENCE_MS = 60_000;

/** Waits until a containerd works. Throws with its last words if it is not in time. */
export async function untilContainerdAnswers(host: Host, containerd: Process): Promise<void> {
  const end = performance.now() + PATIENCE_MS;
  for (;;) {
    try {
      await host.exec(["ctr", "--timeout", "5s", "version"]);
      return;
    } catch (error) {
      if (performance.now() > end) throw new Error(containerd.errors, { cause: error });
      await sleep(50);
    }
  }
}
