import { writeFileSync } from "node:fs";

/** Names this process as `ps`, `top` and `nft monitor` show it; Node calls each `MainThread`. The kernel keeps 15 bytes. */
export function nameProcess(name: string): void {
  try {
    writeFileSync("/proc/self/comm", name);
  } catch {
    // Only the name is lost.
  }
}
