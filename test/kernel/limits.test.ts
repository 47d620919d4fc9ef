import assert from "node:assert/strict";
import { cpSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { ExtensionTrials } from "../../agent/backends/iptables/limits.ts";
import { UNLIMITED } from "../../agent/backends/limits.ts";
import { FAMILIES } from "../../api/address.ts";

for (const flavour of ["nft", "legacy"] as const) {
  for (const family of FAMILIES) {
    test(`${flavour} flavour, ${family}: a node with all extensions has no limit`, async () => {
      assert.deepEqual(await new ExtensionTrials(flavour).limits(family), UNLIMITED);
    });

    test(`${flavour} flavour, ${family}: no affinity without recent, and no SCTP without sctp`, async (t) => {
      const directory = mkdtempSync(join(tmpdir(), "xtables-"));
      const { XTABLES_LIBDIR: before } = process.env;
      t.after(() => {
        rmSync(directory, { recursive: true });
        if (before === undefined) delete process.env.XTABLES_LIBDIR;
        else process.env.XTABLES_LIBDIR = before;
      });
      cpSync("/usr/lib/x86_64-linux-gnu/xtables", directory, { recursive: true });
      for (const name of ["recent", "sctp"]) rmSync(join(directory, `libxt_${name}.so`));
      process.env.XTABLES_LIBDIR = directory;
      const { affinity, protocols } = await new ExtensionTrials(flavour).limits(family);
      assert.equal(affinity, false);
      assert.deepEqual([...protocols], ["TCP", "UDP"]);
    });
  }
}

test("a node where the test is aborted has no limit", async () => {
  const stop = AbortSignal.abort();
  assert.deepEqual(await new ExtensionTrials("nft").limits("IPv4", stop), UNLIMITED);
});
