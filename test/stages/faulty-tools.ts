import { chmodSync, existsSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Lab } from "../lab/lab.ts";
import { AGENT, eventually } from "./agent-process.ts";

/**
 * Files in the stand-ins' directory select the fault. `may_write` returns 1 if a write is to fail, and waits before that if writes
 * are to wait; `may_read` does not return if reading is to hang. The real tool is `$real`.
 */
const PROLOGUE = `#!/bin/sh
real=/usr/sbin/$(basename "$0")
cd "$(dirname "$0")/.."
may_write() {
  if [ -e waits ]; then
    touch reached
    while [ -e waits ]; do sleep 0.1; done
  fi
  calls=$(cat fails 2>/dev/null || echo 0)
  [ "$calls" -gt 0 ] || return 0
  echo $((calls - 1)) >fails
  return 1
}
may_read() {
  [ -e hangs ] || return 0
  touch reached
  exec sleep 600
}
`;

/** Stand-ins for a backend's tools that fail, wait or hang, for agents that find them before the real tools. */
export class FaultyTools {
  readonly #directory: string;

  /** `scripts`: by program; see `TestedBackend.standIns`. */
  constructor(lab: Lab, scripts: Readonly<Record<string, string>>) {
    this.#directory = join(lab.directory, "faulty");
    mkdirSync(join(this.#directory, "bin"), { recursive: true });
    for (const [program, script] of Object.entries(scripts)) {
      const path = join(this.#directory, "bin", program);
      writeFileSync(path, `${PROLOGUE}${script}\n`);
      chmodSync(path, 0o755);
    }
  }

  /** The command that starts an agent which uses them. */
  starting(agent: readonly string[] = [AGENT]): string[] {
    return ["env", `PATH=${this.#directory}/bin:${process.env.PATH}`, ...agent];
  }

  /** The next `writes` writes fail. */
  fail(writes: number): void {
    this.#write("fails", writes);
  }

  /** All writes wait until `heal`. */
  wait(): void {
    this.#write("waits", 1);
  }

  /** All reading hangs. */
  hang(): void {
    this.#write("hangs", 1);
  }

  /** Waits until a tool waits or hangs. */
  async reached(): Promise<void> {
    await eventually(() => {
      if (!existsSync(this.#path("reached"))) throw new Error("no tool waits or hangs");
    }, 60_000);
  }

  heal(): void {
    for (const name of ["fails", "waits", "hangs", "reached"])
      rmSync(this.#path(name), { force: true });
  }

  #write(name: string, value: number): void {
    writeFileSync(this.#path(name), `${value}\n`);
  }

  #path(name: string): string {
    return join(this.#directory, name);
  }
}
