import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { runInGuest } from "../../test/vm/guest-tests.ts";
import type { Stage } from "../../test/vm/mirror.ts";
import { REPOSITORY } from "../../test/vm/run-disk.ts";
import { parseSync, type Sync } from "./sync.ts";

/** Runs IPVS and iptables beside each other in one virtual machine. Makes it first, if it is not there yet. */
export async function syncsInGuest(): Promise<Sync[]> {
  const stdio: ["ignore", "inherit", "inherit"] = ["ignore", "inherit", "inherit"];
  execFileSync(join(REPOSITORY, "scripts/prepare"), ["vm"], { stdio });
  const heard = new Heard();
  await runInGuest(heard, { files: ["bench/guest/contest.bench.ts"], commands: [] });
  for (const error of heard.errors) throw error;
  return heard.syncs;
}

/** In place of node:test: remembers the figures among what tests say, and why any has failed. */
export class Heard implements Stage {
  readonly syncs: Sync[] = [];
  readonly errors: unknown[] = [];

  /** Does not reject: the run continues to its end, which may show more. */
  async test(_name: string, body: (stage: Stage) => Promise<void>): Promise<void> {
    await body(this).catch((error: unknown) => {
      this.errors.push(error);
    });
  }

  diagnostic(text: string): void {
    const sync = parseSync(text);
    if (sync !== undefined) this.syncs.push(sync);
  }

  skip(why: string): void {
    this.errors.push(new Error(`skipped: ${why}`));
  }
}
