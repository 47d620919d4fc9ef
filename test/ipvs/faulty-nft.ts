import { chmodSync, existsSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Lab } from "../lab/lab.ts";
import { AGENT, eventually } from "../support/agent-process.ts";

/**
 * What the program in nft's place does: files beside it say what becomes of a write, or of reading. With -i, each line that
 * is not the end of one is a write.
 */
const SCRIPT = `#!/bin/sh
cd "$(dirname "$0")/.."
check() {
  if [ -e waits ]; then
    touch reached
    while [ -e waits ]; do sleep 0.1; done
  fi
  calls=$(cat fails 2>/dev/null || echo 0)
  [ "$calls" -gt 0 ] || return 0
  echo $((calls - 1)) >fails
  return 1
}
pass() {
  while IFS= read -r line; do
    case "$line" in
      end-of-*) ;;
      *) check || line="no-memory" ;;
    esac
    printf '%s\\n' "$line"
  done
}
case "$1" in
  -i) pass | /usr/sbin/nft -i ;;
  -f) check || { echo "no memory" >&2; exit 1; }
      exec /usr/sbin/nft "$@" ;;
  *) if [ -e hangs ]; then
       touch reached
       exec sleep 600
     fi
     exec /usr/sbin/nft "$@" ;;
esac
`;

/** An nft that does not do what it is asked for, for agents that find it before the real one. */
export class FaultyNft {
  readonly #directory: string;

  constructor(lab: Lab) {
    this.#directory = join(lab.directory, "nft");
    mkdirSync(join(this.#directory, "bin"), { recursive: true });
    writeFileSync(join(this.#directory, "bin/nft"), SCRIPT);
    chmodSync(join(this.#directory, "bin/nft"), 0o755);
  }

  /** The agent that uses it. */
  get program(): string[] {
    return ["env", `PATH=${this.#directory}/bin:${process.env.PATH}`, AGENT];
  }

  /** So many writes fail from now on; how many are left. */
  fail(writes: number): void {
    this.#write("fails", writes);
  }

  /** The next write waits, and all after it, until `heal`. */
  wait(): void {
    this.#write("waits", 1);
  }

  /** All reading hangs. */
  hang(): void {
    this.#write("hangs", 1);
  }

  /** Waits until somebody waits, or hangs. */
  async reached(): Promise<void> {
    await eventually(() => {
      if (!existsSync(this.#path("reached"))) throw new Error("nft was not asked");
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
