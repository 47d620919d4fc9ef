import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { runInGuest } from "../../test/vm/guest-tests.ts";
import { closingText } from "../../test/vm/results.ts";
import { REPOSITORY } from "../../test/vm/run-disk.ts";
import { parseSync, type Sync } from "./sync.ts";

/** Runs IPVS and iptables beside each other in one virtual machine. Makes it first, if it is not there yet. */
export async function syncsInGuest(): Promise<Sync[]> {
  const stdio: ["ignore", "inherit", "inherit"] = ["ignore", "inherit", "inherit"];
  execFileSync(join(REPOSITORY, "scripts/prepare"), ["vm"], { stdio });
  const syncs: Sync[] = [];
  const job = { files: ["bench/guest/contest.bench.ts"], commands: [] };
  const results = await runInGuest(job, (report) => {
    const sync = report.kind === "said" ? parseSync(report.text) : undefined;
    if (sync !== undefined) syncs.push(sync);
  });
  if (results.some(({ outcome }) => outcome !== "passed")) throw new Error(closingText(results));
  return syncs;
}
