import { test } from "node:test";
import { assertStorm } from "../support/connect-storm.ts";

for (const { flavour, connections, changes } of [
  { flavour: "nft", connections: 100_000, changes: 1_000 },
  { flavour: "legacy", connections: 25_000, changes: 250 },
] as const) {
  test(`${flavour} flavour: ${connections} connections during ${changes} endpoint changes, none failed or hung`, async (t) => {
    await assertStorm(t, { flags: ["--iptables-flavour", flavour], connections, changes });
  });
}
