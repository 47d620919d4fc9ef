import { setTimeout as sleep } from "node:timers/promises";
import type { Process } from "../lab/process.ts";
import type { Host } from "./host.ts";

/** Milliseconds until containerd answers, on a machine that does other things, too. */
const PATIENCE_MS = 60_000;

/** Starts a containerd, and returns when it works. Throws with its last words if it is not in time. */
export async function startContainerd(host: Host, config: string): Promise<Process> {
  const containerd = host.serve("containerd", ["containerd", "--config", config]);
  const end = performance.now() + PATIENCE_MS;
  for (;;) {
    try {
      await host.exec(["ctr", "--timeout", "5s", "version"]);
      return containerd;
    } catch (error) {
      if (performance.now() > end) throw new Error(host.lastWords("containerd"), { cause: error });
      await sleep(50);
    }
  }
}

/** Has a host's containerd take an image out of an archive (OCI or Docker). */
export async function loadImage(host: Host, archive: string): Promise<void> {
  const argv = ["ctr", "-n", "k8s.io", "images", "import", archive];
  await host.exec(argv, { timeout: 300_000 });
}
