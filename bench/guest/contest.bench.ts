import { execFileSync } from "node:child_process";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { CONTENDERS, type Contender, readSync, type Sync, syncText } from "./sync.ts";

// Run in the virtual machine by bench/guest/measured.ts, which takes the figures from the diagnostics.

const PROGRAM = fileURLToPath(new URL("contender.ts", import.meta.url));

/** Services, changes of one endpoint, and how often: each time on a kernel that has nothing yet. */
const ROUNDS = [
  { services: 10, changes: 300, times: 1 },
  { services: 1_000, changes: 34, times: 3 },
] as const;
const ENDPOINTS = 3;

/** IPVS takes a destination only if it is one host's, which a namespace without any address cannot tell. */
const ALIVE = 'ip link set lo up && exec "$0" "$@"';

test("kernel modules are loaded before the measurement", () => {
  for (const backend of CONTENDERS) compete(backend, 1, 2);
});

for (const { services, changes, times } of ROUNDS) {
  test(`${services} services`, (t) => {
    for (let i = 0; i < times; i++) {
      // In turn: what slows the machine for a while slows both.
      for (const backend of CONTENDERS) t.diagnostic(syncText(compete(backend, services, changes)));
    }
  });
}

function compete(backend: Contender, services: number, changes: number): Sync {
  const numbers = [services, ENDPOINTS, changes].map(String);
  const argv = ["--net", "sh", "-c", ALIVE, process.execPath, PROGRAM, backend, ...numbers];
  return readSync(execFileSync("unshare", argv, { encoding: "utf8" }));
}
